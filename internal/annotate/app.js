// The pages of annotation: keys, passages, drafts, and sending answers until the
// server says that they are on disk. Text of the study is only ever read here.
const $ = (s, in_ = document) => in_.querySelector(s);
const all = (s, in_ = document) => [...in_.querySelectorAll(s)];
const form = $('#answer');
const newID = () => crypto.randomUUID ? crypto.randomUUID() : [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('');
// status says something once: a screen reader would read it again at every key.
const status = (text, unsaved) => { const s = $('#status'); if (s.textContent !== text) s.textContent = text; s.classList.toggle('unsaved', !!unsaved); };

async function post(to, event, keepalive = false) {
	const response = await fetch(to, {method: 'POST', keepalive, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(event)});
	const text = await response.text();
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
const opened = performance.now();
let active = 0, lastInput = opened, lastTick = opened;
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
const notes = $('#notes');
for (const area of notes ? all('textarea', notes) : []) {
	let timer = 0, busy = false, dirty = false;
	const save = async () => {
		if (busy) { dirty = true; return; }
		busy = true;
		dirty = false;
		try {
			const {ok, said} = await post(notes.dataset.event, {id: newID(), task: notes.dataset.task, kind: 'note', key: area.dataset.key, topic: area.dataset.topic, reason: area.value});
			if (ok) status('Saved ' + said.saved.slice(11, 19)); else status(said.error, true);
		} catch { status('NOT SAVED: the server does not answer', true); dirty = true; }
		busy = false;
		if (dirty) timer = setTimeout(save, 2000);
	};
	area.addEventListener('input', () => { status('Not saved yet', true); clearTimeout(timer); timer = setTimeout(save, 600); });
	addEventListener('beforeunload', e => { if ($('#status').classList.contains('unsaved')) e.preventDefault(); });
}

if (form) start();

function start() {
	const {task, key, shown, kind, event: to, person} = form.dataset;
	const box = `scruple/${person}/${task}`; // answers that are not confirmed yet
	const questions = all('.question');
	const choiceOf = name => $(`.question[data-name="${name}"]:not([hidden]) input:checked`)?.value ?? '';
	const inputs = q => all('input:not([type=search])', q);
	const pageText = p => p.firstChild?.nodeValue ?? '';
	const spans = {}; // by question
	let draftTimer = 0, draftID = '', sending = false, sent = false, unsaved = false, unkept = false;

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

	// past has the marks before each change, for Ctrl Z.
	const past = [];
	const remember = q => { past.push([q, JSON.stringify(spans[q.dataset.name] ?? [])]); };

	function read() {
		const answer = {};
		for (const q of questions) {
			if (q.hidden) continue;
			const {name, type} = q.dataset;
			const values = all('input:checked', q).map(i => i.value);
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

	function list(q) {
		const ul = $('.spans', q), options = ul.dataset.options ? ul.dataset.options.split('\n') : [];
		ul.replaceChildren();
		for (const [i, s] of (spans[q.dataset.name] ?? []).entries()) {
			const li = document.createElement('li'), quote = document.createElement('blockquote'), remove = document.createElement('button');
			quote.textContent = s.text;
			quote.dir = 'auto';
			li.append(quote, ` (page ${s.page}) `);
			if (options.length) {
				const select = document.createElement('select');
				select.setAttribute('aria-label', `Label of passage ${i + 1}`);
				select.append(new Option('choose a label', ''), ...options.map(o => new Option(o, o)));
				select.value = s.label ?? '';
				select.addEventListener('change', () => { remember(q); s.label = select.value; changed(); });
				li.append(select, ' ');
			}
			remove.type = 'button';
			remove.textContent = 'Remove';
			remove.setAttribute('aria-label', `Remove passage ${i + 1}`);
			remove.addEventListener('click', () => { remember(q); spans[q.dataset.name].splice(i, 1); list(q); changed(); });
			li.append(remove);
			ul.append(li);
		}
		if (!CSS.highlights) return;
		CSS.highlights.set('marked', new Highlight(...Object.values(spans).flat().map(s => {
			const page = $(`.page[data-page="${s.page}"]`), range = new Range();
			range.setStart(page.firstChild, units(page, s.start));
			range.setEnd(page.firstChild, units(page, s.end));
			return range;
		})));
	}

	// mark adds the selected passage to the question in focus or the first one open.
	function mark(q) {
		if (sending) return;
		if (form.dataset.gold && !choiceOf('exists')) { // who marks a passage says that there is one
			$('.question[data-name=exists] input[value=present]').checked = true;
			ask();
		}
		q ??= focused('span');
		const sel = getSelection(), page = sel.anchorNode?.parentElement;
		if (!q || sel.isCollapsed || sel.anchorNode !== sel.focusNode || !page?.matches('.page')) {
			status('Select a passage on one page first.', true);
			return;
		}
		const text = pageText(page), [from, until] = [sel.anchorOffset, sel.focusOffset].sort((a, b) => a - b);
		const part = text.slice(from, until);
		const s = {page: Number(page.dataset.page), start: points(page, from), end: points(page, until), text: part};
		const own = spans[q.dataset.name] ??= [];
		if (own.some(o => o.page === s.page && o.start === s.start && o.end === s.end && !o.label)) { status('Marked already.', true); return; }
		remember(q);
		own.push(s);
		const value = form.dataset.gold && $('.question[data-name=value] textarea');
		if (value && !value.value.trim()) value.value = part.trim();
		list(q);
		changed();
		status(`Marked: ${part.slice(0, 80)}`);
	}

	function focused(...types) {
		const fits = q => q && !q.hidden && types.includes(q.dataset.type);
		const here = document.activeElement?.closest('.question');
		return fits(here) ? here : questions.find(fits);
	}

	function changed() {
		ask();
		unsaved = true;
		if (kind !== 'submit') return;
		status('Not saved yet', true);
		clearTimeout(draftTimer);
		draftTimer = setTimeout(draft, 600);
	}

	async function draft(leaving) {
		draftTimer = 0;
		if (sending) return;
		const answer = read(), id = draftID = newID();
		try {
			const {ok, said} = await post(to, {id, task, key, kind: 'draft', shown, answer}, leaving);
			if (id !== draftID || sending) return;
			unkept = !ok;
			if (ok) status('Draft saved ' + said.saved.slice(11, 19)); else status(said.error, true);
		} catch {
			unkept = true;
			if (id === draftID && !sending) { status('NOT SAVED: the server does not answer', true); draftTimer = setTimeout(draft, 2000); }
		}
	}
	// Whoever leaves the page at once does not lose the last words.
	for (const e of ['beforeunload', 'pagehide']) addEventListener(e, () => { if (draftTimer) { clearTimeout(draftTimer); draft(true); } });

	const stored = () => { try { return JSON.parse(localStorage.getItem(box)) ?? []; } catch { return []; } };
	const keep = events => { try { localStorage.setItem(box, JSON.stringify(events)); } catch { /* the page stays as it is until the answer is saved */ } };

	// send sends an answer until the server confirms or refuses it.
	async function send(event) {
		keep([...stored().filter(e => e.key !== event.key), event]);
		for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
			try {
				const {ok, said} = await post(to, event);
				keep(stored().filter(e => e.id !== event.id));
				return {ok, said};
			} catch {
				status('NOT SAVED', true); // the header may be out of sight
				$('#problem').textContent = 'NOT SAVED: the server does not answer. Keep this page open; it tries again. If the server was started anew, open its new address; if that has another port, copy your text there.';
				await new Promise(r => { setTimeout(r, wait); addEventListener('online', r, {once: true}); });
			}
		}
	}

	async function submit(kind, answer, reason) {
		if (sending) return;
		clearTimeout(draftTimer);
		draftTimer = 0;
		const now = performance.now(), place = document.activeElement;
		const event = {id: newID(), task, key, kind, shown, answer, reason, active_ms: Math.round(active), wall_ms: Math.round(now - opened)};
		status('Saving');
		$('#problem').textContent = '';
		sending = true;
		ask(); // nothing can be changed that would not be sent
		const {ok, said} = await send(event);
		sent = ok;
		if (ok) { location.href = './'; return; }
		sending = false;
		changed();
		place.focus();
		status('NOT SAVED', true);
		$('#problem').textContent = said.error;
	}

	form.addEventListener('submit', e => { e.preventDefault(); submit(kind, read(), $('#reason')?.value ?? ''); });
	form.addEventListener('input', e => { if (!e.target.closest('#skip, .narrow-options')) changed(); });
	// An Enter that is held or pressed again after it chose an option must not submit.
	form.addEventListener('keypress', e => { if (e.key === 'Enter' && e.target.matches('input')) e.preventDefault(); });
	$('#skipnow')?.addEventListener('click', () => submit('skip', {}, $('#why').value));
	for (const b of all('.take')) b.addEventListener('click', () => take(JSON.parse(b.dataset.answer)));
	for (const b of all('.mark')) b.addEventListener('click', () => mark(b.closest('.question')));

	// The wheel scrolls the page, and never changes the number that has the focus.
	for (const i of all('input[type=number]', form)) i.addEventListener('wheel', () => i.blur(), {passive: true});

	// A long list of options shows those that contain the typed text.
	for (const box of all('.narrow-options')) {
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
		if (e.key === 'Enter' && !e.ctrlKey && !e.metaKey) { e.preventDefault(); if (!e.repeat) mark(); return; }
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
	startKeys([
		...questions.filter(q => q.dataset.key).map(q => ({name: 'question-' + q.dataset.name, key: q.dataset.key, text: $('legend', q).innerText, act: () => !q.hidden && go(option(q))})),
		{name: 'write', key: 'w', text: 'write in the text in focus, or the first one', act: () => go($('textarea', focused('text') ?? form))},
		{name: 'text', key: 't', text: 'go to the text; arrow keys move by word, Shift extends, Enter marks', act: () => go(at.page ?? $('.page[tabindex]'))},
		...($('.narrow-options') ? [{name: 'narrow', key: 'f', text: 'narrow a long list of options; Enter chooses the first one left', act: () => {
			const fits = q => q && !q.hidden && $('.narrow-options input', q);
			return go(fits(document.activeElement.closest('.question')) ?? questions.map(fits).find(Boolean));
		}}] : []),
		{name: 'find', key: '/', text: 'find in the text; Enter selects the next place', act: () => go($('#find'))},
		{name: 'remove', key: 'x', once: true, text: 'remove the last marked passage', act: () => {
			const q = questions.findLast(q => spans[q.dataset.name]?.length);
			if (!q || sending) return false;
			remember(q);
			spans[q.dataset.name].pop();
			list(q);
			changed();
		}},
		{name: 'skip', key: 's', text: 'skip with a reason', act: () => {
			if (!$('#skip')) return false;
			$('#skip').open = true;
			go($('#why'));
		}},
		{name: 'back', key: 'Backspace', once: true, text: 'previous answer', act: () => {
			if (!$('#back')) return false;
			location.href = $('#back').href;
		}},
		...[...'123456789'].map(n => ({name: 'option-' + n, key: n, fixed: true, once: true, act: () => {
			const q = focused('choice', 'several'), i = q && inputs(q)[n - 1];
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
			if (e.target.closest('#skip')) $('#skipnow').click(); else form.requestSubmit();
		}
		if ((e.ctrlKey || e.metaKey) && !e.shiftKey && e.key === 'z' && past.length && !sending && !e.target.matches('textarea, input:not([type=radio]):not([type=checkbox])')) {
			e.preventDefault();
			const [q, before] = past.pop();
			spans[q.dataset.name] = JSON.parse(before);
			list(q);
			changed();
		}
		if (e.key === 'Escape' && !composing(e) && e.target.matches('textarea, select, input:not([type=radio]):not([type=checkbox])')) { e.preventDefault(); (e.target.id === 'find' && at.page?.matches('[tabindex]') ? at.page : $('#heading')).focus({preventScroll: true}); }
	});

	// The next question about a text begins where the last one was in it.
	const placeKey = 'scruple-place';
	addEventListener('pagehide', () => { try { sessionStorage.setItem(placeKey, JSON.stringify([form.dataset.document, scrollY, ...all('.page').map(p => p.scrollTop)])); } catch { /* then it begins at the top */ } });
	function returnTo() {
		let kept;
		try { kept = JSON.parse(sessionStorage.getItem(placeKey)); } catch { return false; }
		if (kept?.[0] !== form.dataset.document) return false;
		all('.page').forEach((p, i) => { p.scrollTop = kept[i + 2] ?? 0; });
		scrollTo(0, kept[1]);
		return true;
	}

	// The last draft keeps a first answer, unless the server refused it or was away; a change or a decision has none.
	addEventListener('beforeunload', e => { if (!sent && (sending || unsaved && (kind !== 'submit' || unkept))) e.preventDefault(); });
	addEventListener('pageshow', e => { if (e.persisted) location.reload(); }); // the answer was sent since

	for (const page of all('.page')) page.normalize(); // Safari divides long texts
	if (form.dataset.draft) fill(JSON.parse(form.dataset.draft));
	ask();
	$('#heading').focus({preventScroll: returnTo()});
	// Answers that an earlier page could not send.
	for (const e of stored()) {
		post(to, e).then(({ok, said}) => {
			keep(stored().filter(o => o.id !== e.id));
			if (!ok) $('#problem').textContent = 'An answer that could not be sent before was refused: ' + said.error;
			else if (e.key === key) location.href = './';
		}, () => { /* the next page tries again */ });
	}
}
