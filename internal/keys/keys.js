// composing reports whether a key belongs to an input method, such as the Enter that ends a
// word of Japanese. Safari only says so by the code.
const composing = e => e.isComposing || e.keyCode === 229;

// The keys of a page. An action has a name, a key that the reader can change, a text for
// the help, and act; what returns false leaves the key to the browser. A key that is held
// repeats its action, unless the action has once. Lines of the help are other keys: [keys,
// text]. The keys of fixed actions cannot be changed, and are in no other line of the help.
// The browser keeps the choice for the address of the server.
function startKeys(actions, lines = []) {
	const place = 'scruple-keys';
	const show = () => { said.textContent = ''; help.showModal(); };
	actions = [...actions, {name: 'help', key: '?', text: 'show the keys', act: show}];
	const chosen = {off: false, keys: {}};
	try {
		const {off, keys} = JSON.parse(localStorage.getItem(place)) ?? {};
		chosen.off = off === true;
		for (const [name, key] of Object.entries(keys ?? {})) if (typeof key === 'string' && key) chosen.keys[name] = key;
	} catch { /* nothing was kept, or storage is disabled */ }
	const keep = () => { try { localStorage.setItem(place, JSON.stringify(chosen)); } catch { /* the choice lasts for this page */ } };
	const own = a => Object.hasOwn(chosen.keys, a.name);
	const keyOf = a => own(a) ? chosen.keys[a.name] : a.key;
	const find = key => actions.find(a => own(a) && chosen.keys[a.name] === key) ?? actions.find(a => !own(a) && a.key === key);

	const make = (name, text = '', to = {}) => Object.assign(document.createElement(name), {textContent: text}, to);
	const help = make('dialog', '', {id: 'help', className: 'keyhelp'}), list = make('ul'), said = make('p', '', {className: 'said'});
	const on = make('input', '', {type: 'checkbox', id: 'keys-on', checked: !chosen.off});
	help.setAttribute('aria-labelledby', 'helphead');
	said.setAttribute('role', 'status');
	on.addEventListener('change', () => { chosen.off = !on.checked; keep(); });

	// change gives an action another key. Who had it gets the old one.
	function change(a, key) {
		const other = find(key), before = keyOf(a);
		if (other === a) return;
		if (other?.fixed) { said.textContent = `${key} cannot be changed: it has another use on these pages.`; return; }
		chosen.keys[a.name] = key;
		said.textContent = `${key}: ${a.text}.`;
		if (other) {
			chosen.keys[other.name] = before;
			said.textContent += ` ${before}: ${other.text}.`;
		}
		keep();
		fill();
	}
	const changeable = actions.filter(a => !a.fixed);
	function fill() {
		for (const [i, input] of [...list.querySelectorAll('input')].entries()) input.value = keyOf(changeable[i]);
	}
	for (const a of changeable) {
		const row = make('li'), input = make('input', '', {id: 'key-' + a.name, autocomplete: 'off', spellcheck: false}), label = make('label', a.text, {htmlFor: input.id});
		input.addEventListener('keydown', e => {
			if (e.ctrlKey || e.metaKey || e.altKey || e.key.length > 1 && e.key !== 'Backspace' || e.key === ' ') return;
			e.preventDefault();
			e.stopPropagation();
			change(a, e.key);
		});
		input.addEventListener('input', fill); // what a key does not change stays
		row.append(input, label);
		list.append(row);
	}
	fill();
	for (const [keys, text] of lines) {
		const row = make('li');
		row.append(make('kbd', keys), make('span', text));
		list.append(row);
	}
	const switched = make('label'), reset = make('button', 'Reset keys', {type: 'button'}), close = make('button', 'Close', {type: 'button'}), buttons = make('p');
	switched.append(on, ' Use keys of a single character');
	reset.addEventListener('click', () => { chosen.keys = {}; keep(); fill(); said.textContent = 'All keys are reset.'; });
	close.addEventListener('click', () => help.close());
	buttons.append(reset, ' ', close);
	help.append(make('h2', 'Keys', {id: 'helphead'}), switched, make('p', 'To change a key, go to it and press the new one.'), list, said, buttons);
	document.body.append(help);

	const button = document.getElementById('keys');
	button.hidden = false;
	button.addEventListener('click', show);

	// Keys are off while the reader writes, with a modifier, and in the dialog.
	addEventListener('keydown', e => {
		if (help.open || chosen.off || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.target.matches?.('textarea, select, input:not([type=radio]):not([type=checkbox])')) return;
		const action = find(e.key);
		if (action && (e.repeat && action.once || action.act() !== false)) e.preventDefault();
	});
}
