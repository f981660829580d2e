"""Two simple extractors of invoices with line items. Their answers are in outputs/:

    python3 rules.py columns < documents.jsonl > outputs/columns.jsonl
    python3 rules.py amounts < documents.jsonl > outputs/amounts.jsonl

columns splits lines at wide gaps and reads the first cell as a name and the last as an amount.
amounts takes every line that ends in an amount as an item, totals included.
"""
import json
import re
import sys

AMOUNT = re.compile(r"(?:[$€]\s*)?(-?\d[\d.,]*[.,]\d\d)(?:\s*(?:EUR|USD))?$")
MONTHS = r"\d{1,2} \w+ \d{4}|\w+ \d{1,2} ?, \d{4}|\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}"


def find(pattern, text):
    found = re.search(pattern, text, re.IGNORECASE)
    return found.group(1).strip() if found else None


def items(text, columns):
    found = []
    for line in text.splitlines():
        amount = AMOUNT.search(line.strip())
        if not amount:
            continue
        cells = re.split(r"\s{2,}", line.strip())
        name = re.sub(r"^[\[*][^\]*]+[\]*]\s*", "", cells[0])
        if columns and (len(cells) < 2 or re.search(r"total|btw|tax|vat|charges|credits|factuur|deal|op \d", name, re.I)):
            continue
        quantity = find(r"\s(\d+(?:\.\d+)?)(?:\s|$)", "  ".join(cells[1:2])) if columns else None
        found.append({"name": name, "quantity": quantity, "amount": amount.group(1)})
    return found


def main(mode):
    for line in sys.stdin:
        d = json.loads(line)
        text = re.sub(r"---PAGE \d+---\n", "", d["text"])
        answer = {
            "invoice_number": find(r"(?:invoice number|factuurnummer|invoice)[: ]+(\S*\d\S*)", text),
            "invoice_date": find(r"(?:invoice date|factuurdatum|issue date):?\s+(%s)" % MONTHS, text),
            "seller": find(r"issuer: (.+)", text) or find(r"^\W*(\S[^\n]*?)(?:\s{3,}|\n)", text),
            "total": find(r"\btota[a]?l\b[^\n\d]*([\d.,]+)", text),
            "currency": "EUR" if "€" in text or "EUR" in text else "USD" if "$" in text else None,
            "items": items(text, mode == "columns"),
        }
        print(json.dumps({"document_id": d["document_id"], "output": answer}, ensure_ascii=False))


main(sys.argv[1])
