// The pages of annotation: keys, passages, drafts, and sending answers until the
// server says that they are on disk. Text of the study is only ever read here.
const $ = (s, in_ = document) => in_.querySelector(s);
const all = (s, in_ = document) => [...in_.querySelectorAll(s)];
const newID = () => crypto.randomUUID ? crypto.randomUUID() : [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('');
// status says something once: a screen reader would read it again at every key.
const status = (text, unsaved) => { const s = $('#status'); if (s.textContent !== text) s.textContent = text; s.classList.toggle('unsaved', !!unsaved); };

// pack makes the body of a request, which outlives a page that is left if there is room: of all
// such requests of a page together browsers send no more than 64 KB.
let outliving = 0;
function pack(event, leaving) {
	const body = JSON.stringify(event), bytes = new TextEncoder().encode(body).length;
	return {body, bytes, keepalive: !!leaving && outliving + bytes < 60000};
}
const post = (to, event) => deliver(to, pack(event));

async function deliver(to, {body, bytes, keepalive}) {
	if (bytes > mostBytes) return {ok: false, said: {error: `NOT SAVED: the answer is too long, ${(bytes / mostBytes).toFixed(2)} times the ${mostBytes >> 20} MB that can be saved: shorten it, or take out passages`}};
	let response, text;
	if (keepalive) outliving += bytes;
	try {
		response = await fetch(to, {method: 'POST', keepalive, headers: {'Content-Type': 'application/json'}, body});
		text = await response.text();
	} finally { if (keepalive) outliving -= bytes; }
	try { return {ok: response.ok, said: JSON.parse(text)}; } catch { /* not from the pages' handler */ }
	if (response.status === 404) throw new Error('another start of the server has another address');
	return {ok: false, said: {error: 'not saved: ' + (text.trim() || 'the server answered ' + response.status)}};
}

$('#continue')?.addEventListener('click', async () => {
	const main = $('main');
	try {
		const {ok, said} = await post(main.dataset.event, {id: newID(), task: main.dataset.task, kind: 'break'});
		if (ok) location.reload(); else status(said.error, true);
	} catch { status('The server does not answer. Start it again.', true); }
});

$('#lock')?.addEventListener('submit', async e => {
	e.preventDefault();
	try {
		const {ok, said} = await post(e.target.dataset.to, {name: $('#name').value.trim(), declaration: $('#declaration').value});
		if (ok) location.reload(); else $('#problem').textContent = said.error;
	} catch { $('#problem').textContent = 'The server does not answer. Start it again.'; }
});

// active counts milliseconds of a visible tab with input in the last minute.
let opened = performance.now(), active = 0, lastInput = opened, lastTick = opened;
const touch = () => { lastInput = performance.now(); };
for (const e of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'scroll']) addEventListener(e, touch, {passive: true, capture: true});
setInterval(() => {
	const now = performance.now();
	if (!document.hidden && now - lastInput < 60000) active += Math.min(now - lastTick, 1000); // the computer may have slept
	lastTick = now;
}, 500);

// sentences adds the number of sentences to a count, with a warning.
function sentences(count, text) {
	const [least, most] = count.dataset.sentences.split(' ').map(Number);
	const n = [...new Intl.Segmenter('en', {granularity: 'sentence'}).segment(text.trim())].filter(s => /[\p{L}\p{N}]/u.test(s.segment)).length;
	const bad = n > 0 && (n < least || n > most);
	count.textContent += ` · ${n} ${n === 1 ? 'sentence' : 'sentences'}` + (bad ? `: want ${least} to ${most}` : '');
	count.classList.toggle('warn', bad);
}

// Notes are saved while they are written, each with its last text.
const notes = $('#notes'), areas = notes ? all('textarea', notes).map(note) : [];
for (const leaving of ['beforeunload', 'pagehide']) addEventListener(leaving, e => { if (areas.filter(a => !a.leave()).length) e.preventDefault(); });

function note(area) {
	let timer = 0, stored = area.value, sending = null, refused = null, failed = false, kept = false;
	const unsaved = () => area.value !== stored;
	async function save(leaving) {
		clearTimeout(timer);
		timer = 0;
		if (sending !== null) return; // it goes on with the last text
		const text = sending = area.value;
		const packed = pack({id: newID(), task: notes.dataset.task, kind: 'note', key: area.dataset.key, topic: area.dataset.topic, reason: text}, leaving);
		kept = packed.keepalive;
		let wait = 0;
		try {
			const {ok, said} = await deliver(notes.dataset.event, packed);
			failed = false;
			if (ok) stored = text; else refused = text;
			if (!ok) status(said.error, true); else if (!areas.some(a => a.unsaved())) status('Saved ' + said.saved.slice(11, 19));
		} catch {
			status('NOT SAVED: the server does not answer', true);
			[failed, wait] = [true, 2000];
		}
		sending = null;
		if (unsaved() && area.value !== refused) timer ||= setTimeout(save, wait);
	}
	area.addEventListener('input', () => { status('Not saved yet', true); refused = null; clearTimeout(timer); timer = setTimeout(save, 600); });
	return {
		unsaved,
		// leave sends the last text if it can, and says whether nothing is lost with the page.
		leave() {
			if (unsaved() && area.value !== refused) save(true);
			return !unsaved() || sending === area.value && kept && !failed;
		},
	};
}

const forms = all('form.answer');
if (forms.length) start();

function start() {
	const {task, event: to, person} = forms[0].dataset;
	const box = `scruple/${person}/${task}`; // answers that are not confirmed yet
	const inputs = q => all('input:not([type=search]):not(.value):not(.record)', q);
	const pageText = p => p.firstChild?.nodeValue ?? '';

	// Passages count code points, and selections UTF-16 units. pairs has the places of the
	// characters of two units; words are read when they are needed first. Texts can have 1 MB.
	const cache = new WeakMap();
	const known = page => {
		if (!cache.has(page)) cache.set(page, {pairs: [...pageText(page).matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)].map(m => m.index)});
		return cache.get(page);
	};
	const count = (list, is) => { // of the first elements of which something is true
		let from = 0, to = list.length;
		while (from < to) {
			const mid = (from + to) >> 1;
			if (is(list[mid], mid)) from = mid + 1; else to = mid;
		}
		return from;
	};
	const points = (page, unit) => unit - count(known(page).pairs, p => p + 2 <= unit);
	const units = (page, point) => point + count(known(page).pairs, (p, i) => p - i < point);

	const stored = () => { try { return JSON.parse(localStorage.getItem(box)) ?? []; } catch { return []; } };
	const keep = events => { try { localStorage.setItem(box, JSON.stringify(events)); } catch { /* the page stays as it is until the answer is saved */ } };
	const drop = id => keep(stored().filter(e => e.id !== id));

	// The page of a text has a sheet for each of its units. Keys and marks are for the one that
	// was used last, at first the open one.
	const sheets = forms.map(sheet);
	let here = sheets.find(s => s.form.dataset.here) ?? sheets[0];
	for (const s of sheets) {
		const unit = s.form.closest('.unit') ?? s.form;
		const use = () => {
			if (here === s) return;
			here = s;
			light();
			history.replaceState(null, '', s.form.dataset.key); // a reload comes back to it
		};
		unit.addEventListener('focusin', use);
		unit.addEventListener('toggle', () => { if (unit.open) use(); });
	}

	// light shows the marks of the sheet in use, and those of the others apart.
	function light() {
		if (!CSS.highlights) return;
		const ranges = of => new Highlight(...of.flatMap(s => s.marks()).map(s => {
			const page = $(`.page[data-page="${s.page}"]`), range = new Range();
			range.setStart(page.firstChild, units(page, s.start));
			range.setEnd(page.firstChild, units(page, s.end));
			return range;
		}));
		CSS.highlights.set('beside', ranges(sheets.filter(s => s !== here)));
		CSS.highlights.set('marked', ranges([here]));
	}

	// sheet is a form with its questions.
	function sheet(form) {
		const {key, shown} = form.dataset;
		const questions = all('.question', form);
		const choiceOf = name => $(`.question[data-name="${name}"]:not([hidden]) input:checked`, form)?.value ?? '';
		const spans = {}; // by question
		const why = $('.why', form), problem = $('.problem', form);
		let kind = form.dataset.kind, draftTimer = 0, drafting = null, paced = 0, dirty = false, sending = false, sent = false, unsaved = false, unkept = false, refused = '', since = performance.now(), reloaded = performance.getEntriesByType('navigation')[0]?.type === 'reload';

		// past has the marks before each change, for Ctrl Z.
		let past = [];
		const remember = q => { past.push([q, JSON.stringify(spans[q.dataset.name] ?? [])]); };

		function read() {
			const answer = {};
			for (const q of questions) {
				if (q.hidden) continue;
				const {name, type} = q.dataset;
				const values = inputs(q).filter(i => i.checked).map(i => i.value);
				if (type === 'choice' && values[0]) answer[name] = values[0];
				if (type === 'several' && values.length) answer[name] = values;
				if (type === 'text' && $('textarea', q).value.trim()) answer[name] = $('textarea', q).value;
				if (type === 'number' && $('input', q).value !== '') answer[name] = Number($('input', q).value);
				if (type === 'span' && spans[name]?.length) answer[name] = spans[name];
			}
			return answer;
		}

		function fill(answer) {
			for (const q of questions) {
				const {name, type} = q.dataset, value = answer[name];
				if (value === undefined) continue;
				if (type === 'choice' || type === 'several') for (const i of inputs(q)) i.checked = [].concat(value).includes(i.value);
				else if (type === 'span') { spans[name] = value; list(q); }
				else $('textarea, input', q).value = value;
			}
		}

		// take replaces the answer of the form.
		function take(answer) {
			for (const q of questions) {
				for (const i of inputs(q)) i.type === 'radio' || i.type === 'checkbox' ? i.checked = false : i.value = '';
				if (q.dataset.type === 'text') $('textarea', q).value = '';
				if (q.dataset.type === 'span') { spans[q.dataset.name] = []; list(q); }
			}
			fill(answer);
			light();
			changed();
		}

		// ask shows the questions that apply and counts characters.
		function ask() {
			for (const q of questions) {
				const [name, ...option] = q.dataset.when.split('=');
				q.hidden = name !== '' && choiceOf(name) !== option.join('=');
				const count = $('.count', q);
				if (count) {
					const n = [...$('textarea', q).value.trim()].length, {min, max} = count.dataset;
					count.textContent = `${n} characters` + (min ? `, at least ${min}` : '') + (max ? `, at most ${max}` : '');
					if (count.dataset.sentences) sentences(count, $('textarea', q).value);
				}
			}
			// A number that is hidden and invalid would stop the form without a word.
			for (const f of all('fieldset', form)) f.disabled = f.hidden || sending;
		}

		const taken = (own, s) => s.label && own.some(o => o !== s && o.record === s.record && o.label === s.label);
		const lastRecord = own => Math.max(1, ...own.map(o => o.record ?? 1));

		function list(q) {
			const ul = $('.spans', q), options = ul.dataset.options ? ul.dataset.options.split('\n') : [], own = spans[q.dataset.name] ?? [];
			const add = (li, kind, label, value, set) => {
				const input = document.createElement('input');
				input.className = kind;
				if (kind === 'record') { input.type = 'number'; input.min = 1; }
				input.autocomplete = 'off';
				input.setAttribute('aria-label', label);
				input.value = value;
				input.addEventListener('input', () => set(input));
				li.append(input, ' ');
				return input;
			};
			ul.replaceChildren();
			for (const [i, s] of own.entries()) {
				const li = document.createElement('li'), quote = document.createElement('blockquote'), remove = document.createElement('button');
				quote.textContent = s.text;
				quote.dir = 'auto';
				li.append(quote, ` (page ${s.page}) `);
				let record;
				if (ul.dataset.values && options.length) {
					li.append('record ');
					record = add(li, 'record', `Record of passage ${i + 1}`, s.record ?? '', e => { s.record = Number(e.value) || undefined; });
				}
				if (options.length) {
					const select = document.createElement('select');
					select.setAttribute('aria-label', `Label of passage ${i + 1}`);
					select.append(new Option('choose a label', ''), ...options.map(o => new Option(o, o)));
					select.value = s.label ?? '';
					select.addEventListener('change', () => {
						remember(q);
						s.label = select.value;
						if (record && taken(own, s)) record.value = s.record = lastRecord(own) + 1; // the next record begins
						changed();
					});
					li.append(select, ' ');
				}
				if (ul.dataset.values) add(li, 'value', `Value of passage ${i + 1}`, s.value ?? '', e => { s.value = e.value; }).dir = 'auto';
				remove.type = 'button';
				remove.textContent = 'Remove';
				remove.setAttribute('aria-label', `Remove passage ${i + 1}`);
				remove.addEventListener('click', () => { remember(q); own.splice(i, 1); list(q); light(); changed(); });
				li.append(remove);
				ul.append(li);
			}
		}

		// mark adds the selected passage to the question in focus or the first one open.
		function mark(q) {
			if (sending) return;
			const sel = getSelection(), page = sel.anchorNode?.parentElement;
			if (sel.isCollapsed || sel.anchorNode !== sel.focusNode || !page?.matches('.page')) {
				status('Select a passage on one page first.', true);
				return;
			}
			if (form.dataset.gold && !choiceOf('exists')) { // who marks a passage says that there is one
				$('.question[data-name=exists] input[value=present]', form).checked = true;
				ask();
			}
			q ??= focused('span');
			if (!q) return;
			const text = pageText(page), [from, until] = [sel.anchorOffset, sel.focusOffset].sort((a, b) => a - b);
			const part = text.slice(from, until), shown = part.replace(/\s+/g, ' ').trim();
			const s = {page: Number(page.dataset.page), start: points(page, from), end: points(page, until), text: part};
			const own = spans[q.dataset.name] ??= [], {options, values} = $('.spans', q).dataset;
			if (own.some(o => o.page === s.page && o.start === s.start && o.end === s.end && !o.label)) { status('Marked already.', true); return; }
			remember(q);
			if (values) {
				s.value = shown;
				if (options) {
					s.record = lastRecord(own);
					if (!options.includes('\n')) s.label = options;
					if (taken(own, s)) s.record++;
				}
			}
			own.push(s);
			const value = form.dataset.gold && $('.question[data-name=value] textarea', form);
			if (value && !value.value.trim()) value.value = shown;
			list(q);
			light();
			changed();
			status(`Marked: ${part.slice(0, 80)}`);
		}

		function focused(...types) {
			const fits = q => q && !q.hidden && types.includes(q.dataset.type);
			const own = document.activeElement?.closest('.question');
			return questions.includes(own) && fits(own) ? own : questions.find(fits);
		}

		function changed() {
			ask();
			unsaved = true;
			if (kind !== 'submit') return;
			status('Not saved yet', true);
			clearTimeout(draftTimer);
			draftTimer = setTimeout(draft, Math.max(600, paced - performance.now()));
		}

		// One draft is under way at a time: of two, the server could store the older one last.
		function draft(leaving) {
			draftTimer = 0;
			dirty = true;
			drafting ??= drafts(leaving).finally(() => { drafting = null; });
		}
		async function drafts(leaving) {
			while (dirty && !sending) {
				dirty = false;
				const packed = pack({id: newID(), task, key, kind: 'draft', shown, answer: read()}, leaving);
				unkept ||= !packed.keepalive; // until the server answers
				// The file keeps every draft: after a large one the next waits.
				paced = performance.now() + 10000 * Math.ceil(Math.max(0, packed.bytes / 65536 - 1));
				try {
					const {ok, said} = await deliver(to, packed);
					unkept = !ok;
					if (!ok) paced = 0;
					if (ok && refused) { drop(refused); refused = ''; } // the draft has it now
					if (sending) return;
					if (!ok) status(said.error, true); else if (!dirty && !draftTimer) status('Draft saved ' + said.saved.slice(11, 19));
				} catch {
					unkept = true;
					paced = 0;
					if (sending) return;
					status('NOT SAVED: the server does not answer', true);
					clearTimeout(draftTimer);
					draftTimer = setTimeout(draft, 2000);
					return;
				}
			}
		}
		const flush = leaving => {
			if (draftTimer) { clearTimeout(draftTimer); draft(leaving); }
			return drafting;
		};

		// send sends an answer until the server confirms or refuses it.
		async function send(event) {
			keep([...stored().filter(e => e.key !== event.key), event]);
			await drafting;
			for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
				try {
					const {ok, said} = await post(to, event);
					drop(event.id);
					return {ok, said};
				} catch {
					status('NOT SAVED', true); // the header may be out of sight
					problem.textContent = 'NOT SAVED: the server does not answer. Keep this page open; it tries again. If the server was started anew, open its new address; if that has another port, copy your text there.';
					await new Promise(r => { setTimeout(r, wait); addEventListener('online', r, {once: true}); });
				}
			}
		}

		async function submit(as, answer, reason) {
			if (sending) return;
			clearTimeout(draftTimer);
			draftTimer = 0;
			const now = performance.now(), place = document.activeElement;
			const event = {id: newID(), task, key, kind: as, shown, answer, reason, active_ms: Math.round(active), wall_ms: Math.round(now - opened)};
			[opened, active] = [now, 0]; // the time of the next answer on this page
			status('Saving');
			problem.textContent = '';
			sending = true;
			ask(); // nothing can be changed that would not be sent
			const {ok, said} = await send(event);
			if (ok) { sent = true; await done(said); return; }
			sending = false;
			opened -= event.wall_ms;
			active += event.active_ms;
			changed();
			if (stayed()) place.focus();
			status('NOT SAVED', true);
			problem.textContent = said.error;
		}

		// stayed says that nobody went elsewhere while an answer was sent: then keys go on where they are.
		const stayed = () => { const e = document.activeElement; return !e || e === document.body || (form.closest('.unit') ?? form).contains(e); };

		// done goes on with the next unit of the text, or else with the next page.
		async function done(said) {
			const next = sheets.find(s => s.form.dataset.key === said.next), unit = form.closest('.unit'), focus = stayed();
			if (!next) {
				await Promise.all(sheets.map(s => s.flush()));
				location.href = './';
				return;
			}
			[sending, unsaved, past] = [false, false, []];
			$('.said', unit).textContent = said.said;
			$('.skip', form)?.remove();
			if (said.change) { kind = 'revise'; why.hidden = sent = false; $('textarea', why).value = ''; }
			ask();
			unit.open = false;
			if (!said.change && said.said !== 'skipped') { form.remove(); unit.classList.add('final'); }
			$('#heading').textContent = document.title = said.title;
			$('#break').textContent = said.break;
			if (focus || here.form === form) next.open(focus);
			if (!sheets.some(s => s.waits())) status('Saved ' + said.saved.slice(11, 19));
		}

		form.addEventListener('submit', e => {
			e.preventDefault();
			// A key or button that is pressed twice was for the subject before: this one is not read yet.
			if (kind === 'submit' && !unsaved && !(reloaded && Object.keys(read()).length) && performance.now() - since < 1000) status('Nothing was sent, as this has just opened: submit again', true);
			else submit(kind, read(), $('textarea', why).value);
		});
		form.addEventListener('input', e => { if (!e.target.closest('.skip, .narrow-options')) changed(); });
		// An Enter that is held or pressed again after it chose an option must not submit.
		form.addEventListener('keypress', e => { if (e.key === 'Enter' && e.target.matches('input')) e.preventDefault(); });
		$('.skip button', form)?.addEventListener('click', () => submit('skip', {}, $('.skip textarea', form).value));
		for (const b of all('.take', form)) b.addEventListener('click', () => take(JSON.parse(b.dataset.answer)));
		for (const b of all('.mark', form)) b.addEventListener('click', () => mark(b.closest('.question')));

		// The wheel scrolls the page, and never changes the number that has the focus.
		for (const i of all('input[type=number]', form)) i.addEventListener('wheel', () => i.blur(), {passive: true});

		// A long list of options shows those that contain the typed text.
		for (const box of all('.narrow-options', form)) {
			const q = box.closest('.question'), input = $('input', box), labels = all('.options label', q);
			const words = l => all('bdi, small', l).map(e => e.textContent).join(' ').toLowerCase();
			const narrow = () => { for (const l of labels) l.hidden = !words(l).includes(input.value.trim().toLowerCase()) && !$('input', l).checked; };
			box.hidden = false;
			input.addEventListener('input', narrow);
			input.addEventListener('keydown', e => {
				if (e.key !== 'Enter' || e.ctrlKey || e.metaKey || composing(e)) return;
				e.preventDefault();
				const first = input.value.trim() && labels.find(l => words(l).includes(input.value.trim().toLowerCase()));
				if (!first) return;
				input.value = '';
				narrow();
				$('input', first).focus();
				$('input', first).click();
			});
		}

		if (form.dataset.draft) fill(JSON.parse(form.dataset.draft) ?? {});
		ask();
		return {
			form, questions, focused, mark, flush,
			marks: () => form.isConnected ? Object.values(spans).flat() : [],
			open(focus = true) {
				const unit = form.closest('.unit');
				unit.open = true;
				[since, reloaded] = [performance.now(), false];
				if (!focus) return;
				$('summary', unit).focus({preventScroll: true});
				unit.scrollIntoView({block: 'nearest'});
			},
			submit() { if (form.isConnected) form.requestSubmit(); },
			removeLast() {
				const q = questions.findLast(q => spans[q.dataset.name]?.length);
				if (!q || sending) return false;
				remember(q);
				spans[q.dataset.name].pop();
				list(q);
				light();
				changed();
			},
			undo() {
				if (!past.length || sending) return false;
				const [q, before] = past.pop();
				spans[q.dataset.name] = JSON.parse(before);
				list(q);
				light();
				changed();
				return true;
			},
			// restore fills in an answer that was refused, unless the page is about something else by now.
			restore(e) {
				if (unsaved || sending || e.kind === 'skip' || e.key !== key || e.shown !== shown) return false;
				$('textarea', why).value = e.reason ?? '';
				refused = e.id;
				take(e.answer);
				return true;
			},
			waits: () => draftTimer || drafting,
			answered: () => kind === 'revise' && !unsaved,
			// The last draft keeps a first answer, unless the server refused it or has not stored it; a change or a decision has none.
			unsent: () => !sent && (sending || unsaved && (kind !== 'submit' || unkept || dirty)),
		};
	}

	// Whoever leaves the page at once does not lose the last words.
	for (const e of ['beforeunload', 'pagehide']) addEventListener(e, () => { for (const s of sheets) s.flush(true); });

	// Words and signs of a page by the arrow keys, also in languages without blanks.
	const words = page => known(page).words ??= [...new Intl.Segmenter([], {granularity: 'word'}).segment(pageText(page))]
		.filter(s => /\S/u.test(s.segment)).map(s => [s.index, s.index + s.segment.length]);
	let at = {page: null, from: 0, to: 0};
	function select(page, from, to) {
		at = {page, from, to};
		const w = words(page);
		if (!w.length) return;
		const [a, b] = from <= to ? [w[from][0], w[to][1]] : [w[from][1], w[to][0]];
		getSelection().setBaseAndExtent(page.firstChild, a, page.firstChild, b);
		const rect = getSelection().getRangeAt(0).getBoundingClientRect(), box = page.getBoundingClientRect();
		if (page.scrollHeight > page.clientHeight && (rect.top < box.top || rect.bottom > box.bottom)) page.scrollTop += rect.top - box.top - box.height / 3;
		const now = getSelection().getRangeAt(0).getBoundingClientRect();
		if (now.top < 0 || now.bottom > innerHeight) scrollBy(0, now.top - innerHeight / 3);
		for (const p of all('.page[tabindex]')) p.tabIndex = p === page ? 0 : -1; // one stop of the Tab key
		status('Selected: ' + String(getSelection()).slice(0, 80));
	}
	for (const page of all('.page[tabindex]')) page.addEventListener('keydown', e => {
		const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, PageDown: 100, PageUp: -100, Home: -1e9, End: 1e9}[e.key];
		if (e.key === 'Enter' && !e.ctrlKey && !e.metaKey) { e.preventDefault(); if (!e.repeat) here.mark(); return; }
		if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
		e.preventDefault();
		const last = words(page).length - 1;
		if (at.page !== page) { select(page, 0, 0); return; }
		const pages = all('.page'), beside = pages[pages.indexOf(page) + Math.sign(step)];
		if (!e.shiftKey && Math.abs(step) < 1e9 && at.to === (step > 0 ? last : 0) && beside && words(beside).length) {
			const to = step > 0 ? 0 : words(beside).length - 1;
			beside.focus({preventScroll: true});
			select(beside, to, to);
			return;
		}
		const next = Math.max(0, Math.min(last, at.to + step));
		select(page, e.shiftKey ? at.from : next, next);
	});

	// find selects the next place of a text.
	let found = {page: 0, at: -1};
	$('#find')?.addEventListener('input', () => { found = {page: 0, at: -1}; });
	$('#find')?.addEventListener('keydown', e => {
		if (e.key !== 'Enter' || composing(e)) return;
		e.preventDefault();
		const pages = all('.page'), what = e.target.value.toLowerCase();
		if (!what) return;
		for (let n = 0; n <= pages.length; n++) {
			const i = (found.page + n) % pages.length;
			// Lower case of a few characters is longer: then offsets would be wrong.
			const text = pageText(pages[i]), low = text.toLowerCase();
			const k = (low.length === text.length ? low : text).indexOf(what, n === 0 ? found.at + 1 : 0);
			if (k < 0) continue;
			found = {page: i, at: k};
			const w = words(pages[i]), first = w.findIndex(x => x[1] > k), lastWord = w.findIndex(x => x[1] >= k + what.trimEnd().length);
			select(pages[i], first, Math.max(first, lastWord));
			$('#found').textContent = 'found on page ' + pages[i].dataset.page;
			return;
		}
		$('#found').textContent = 'not found';
	});

	const go = to => { if (!to) return false; to.focus(); };
	const option = q => $('input:checked', q) ?? $('textarea, input:not([type=search]), button', q);
	// same is the question of that name in the sheet in use.
	const same = q => here.questions.find(o => o.dataset.name === q.dataset.name);
	startKeys([
		...here.questions.filter(q => q.dataset.key).map(q => ({name: 'question-' + q.dataset.name, key: q.dataset.key, text: $('legend', q).innerText, act: () => same(q) && !same(q).hidden && go(option(same(q)))})),
		{name: 'write', key: 'w', text: 'write in the text in focus, or the first one', act: () => go($('textarea', here.focused('text') ?? here.form))},
		{name: 'text', key: 't', text: 'go to the text; arrow keys move by word, Shift extends, Enter marks', act: () => go(at.page ?? $('.page[tabindex]'))},
		...($('.narrow-options') ? [{name: 'narrow', key: 'f', text: 'narrow a long list of options; Enter chooses the first one left', act: () => {
			const fits = q => q && !q.hidden && $('.narrow-options input', q);
			return go(fits(document.activeElement.closest('.question')) ?? here.questions.map(fits).find(Boolean));
		}}] : []),
		{name: 'find', key: '/', text: 'find in the text; Enter selects the next place', act: () => go($('#find'))},
		{name: 'remove', key: 'x', once: true, text: 'remove the last marked passage', act: () => here.removeLast()},
		{name: 'skip', key: 's', text: 'skip with a reason', act: () => {
			const skip = $('.skip', here.form);
			if (!skip) return false;
			skip.open = true;
			go($('textarea', skip));
		}},
		{name: 'back', key: 'Backspace', once: true, text: 'previous answer', act: () => {
			const before = sheets.slice(0, sheets.indexOf(here)).findLast(s => s.answered());
			if (before) return void before.open();
			if (!$('#back')) return false;
			location.href = $('#back').href;
		}},
		...[...'123456789'].map(n => ({name: 'option-' + n, key: n, fixed: true, once: true, act: () => {
			const q = here.focused('choice', 'several'), i = q && inputs(q)[n - 1];
			if (!i || i.closest('[hidden]')) return false; // an option that the list does not show
			i.focus();
			i.click();
		}})),
	], [['1 – 9', 'option of the question in focus, or of the first one'], ['Ctrl Enter', 'submit and open the next subject'], ['Ctrl Z', 'undo the last change of a mark'], ['Esc', 'leave a text']]);
	addEventListener('keydown', e => {
		if ($('#help').open) return;
		if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			if (e.repeat) return; // held, it would submit the next subject too
			const skip = e.target.closest('.skip');
			if (skip) $('button', skip).click(); else here.submit();
		}
		if ((e.ctrlKey || e.metaKey) && !e.shiftKey && e.key === 'z' && !e.target.matches('textarea, input:not([type=radio]):not([type=checkbox])') && here.undo()) e.preventDefault();
		if (e.key === 'Escape' && !composing(e) && e.target.matches('textarea, select, input:not([type=radio]):not([type=checkbox])')) { e.preventDefault(); (e.target.id === 'find' && at.page?.matches('[tabindex]') ? at.page : $('#heading')).focus({preventScroll: true}); }
	});

	// The next question about a text begins where the last one was in it.
	const placeKey = 'scruple-place', text = $('main').dataset.document;
	addEventListener('pagehide', () => { try { sessionStorage.setItem(placeKey, JSON.stringify([text, scrollY, ...all('.page').map(p => p.scrollTop)])); } catch { /* then it begins at the top */ } });
	function returnTo() {
		let kept;
		try { kept = JSON.parse(sessionStorage.getItem(placeKey)); } catch { return false; }
		if (kept?.[0] !== text) return false;
		all('.page').forEach((p, i) => { p.scrollTop = kept[i + 2] ?? 0; });
		scrollTo(0, kept[1]);
		return true;
	}

	addEventListener('beforeunload', e => { if (sheets.some(s => s.unsent())) e.preventDefault(); });
	addEventListener('pageshow', e => { if (e.persisted) location.reload(); }); // the answer was sent since

	for (const page of all('.page')) page.normalize(); // Safari divides long texts
	light();
	$('#heading').focus({preventScroll: returnTo()});
	// Answers that an earlier page could not send.
	for (const e of stored()) {
		post(to, e).then(({ok, said}) => {
			if (ok) {
				drop(e.id);
				if (forms.some(f => f.dataset.key === e.key)) location.href = './';
				return;
			}
			// It stays in the browser until it is a draft, is sent again or is discarded.
			const own = sheets.find(s => s.restore(e)), discard = document.createElement('button'), problem = $('.problem', (own ?? here).form);
			discard.type = 'button';
			discard.textContent = 'Discard it';
			discard.addEventListener('click', () => { drop(e.id); problem.textContent = ''; });
			problem.textContent = `An answer that could not be sent before was refused: ${said.error}. ` + (own ? 'It is filled in. ' : `It was ${JSON.stringify(e.answer)} ${e.reason ?? ''} `);
			problem.append(discard);
			if (own && own !== here) own.open();
		}, () => { /* the next page tries again */ });
	}
}
