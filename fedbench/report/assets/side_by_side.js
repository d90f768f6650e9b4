// Curves of any methods and settings of a paper in one picture: mean and band over the seeds. The
// address says what is drawn, so that it can be sent to others.
(() => {
  const section = document.getElementById('side-by-side');
  if (!section) return;
  const { runs, drawn } = JSON.parse(section.querySelector('script').textContent);
  const settings = Object.keys(runs), methods = [...new Set(settings.flatMap(x => Object.keys(runs[x])))];
  const COLOURS = ['#0173b2', '#de8f05', '#029e73', '#d55e00', '#a15c98', '#7a8290', '#b3a200', '#3a96c8'];
  const DASHES = ['', '6 3', '2 3', '8 3 2 3'];
  const AXES = ['Round', 'Sample passes', 'Traffic (MB)'];
  const [left, top, bottom, height] = [52, 12, 330, 372], shards = {}, picture = section.querySelector('.picture');
  let lines = [], width = 720, right = 708;  // of the picture, which is narrower on a phone

  function make(tag, parent, text, attributes = {}) {
    const made = tag === 'svg' || parent instanceof SVGElement
      ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // What is chosen, as the address has it: '#side-by-side?setting=δ = 0.1&method=FedAvg&method=FedDyn', or
  // as links do: '?method=FedAvg#side-by-side'. A page on a disk may change the former alone.
  function read() {
    const told = new URLSearchParams(location.hash.startsWith('#side-by-side?') ? location.hash.slice(14) : location.search);
    const among = (names, all, usual) => {
      const known = names.filter(name => all.includes(name));
      return known.length ? known : usual;
    };
    return {
      setting: among(told.getAll('setting'), settings, settings.slice(0, 1)),
      method: among(told.getAll('method'), methods, drawn),
      x: told.get('x') || AXES[0],
      y: told.get('y') || 'Accuracy (%)',
    };
  }
  const chosen = read();

  function write() {
    const told = new URLSearchParams();
    for (const [name, value] of Object.entries(chosen)) for (const each of [value].flat()) told.append(name, each);
    history.replaceState(null, '', `#side-by-side?${told}`);
  }

  function boxes(name, all) {
    const field = section.querySelector(`fieldset.${name}`);
    if (all.length > 12) {
      const search = make('input', field, undefined, { type: 'search', placeholder: 'filter', class: 'filter', 'aria-label': `Filter ${name}s` });
      search.addEventListener('input', () => {
        for (const label of field.querySelectorAll('label')) label.hidden = !label.textContent.toLowerCase().includes(search.value.toLowerCase());
      });
    }
    const list = make('div', field);
    for (const each of all) {
      const label = make('label', list), box = make('input', label, undefined, { type: 'checkbox' });
      box.checked = chosen[name].includes(each);
      label.append(each);
      box.addEventListener('change', () => {
        chosen[name] = all.filter(x => x === each ? box.checked : chosen[name].includes(x));
        write();
        show();
      });
    }
  }

  function choose(name, all) {
    const select = section.querySelector(`select.${name}`);
    select.replaceChildren();
    for (const each of all) make('option', select, each, { value: each });
    if (!all.includes(chosen[name])) chosen[name] = all[0];
    select.value = chosen[name];
  }

  function load(letter) {
    shards[letter] ||= new Promise((done, failed) => {
      const script = document.createElement('script');
      script.src = `runs/${letter}.js`;
      script.onload = () => done(window.showRuns.told);
      script.onerror = () => failed(new Error(`runs/${letter}.js is missing`));
      document.head.append(script);
    });
    return shards[letter];
  }
  window.showRuns = told => { window.showRuns.told = told; };

  // The values of a run by round; one that diverged keeps its last value.
  const at = (run, name, round) => {
    if (name === 'Round') return round;
    const i = run.x.indexOf(round), values = run.curves[name];
    if (!values) return null;
    if (i >= 0) return values[i];
    const over = run.status === 'diverged' && round > run.x[run.x.length - 1];
    return over ? values.findLast(y => y !== null) ?? null : null;
  };
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

  function line(setting, method, of) {
    const rounds = [...new Set(of.flatMap(run => run.x))].sort((a, b) => a - b);
    const points = rounds.flatMap(round => {
      const pairs = of.map(run => [at(run, chosen.x, round), at(run, chosen.y, round)]).filter(([x, y]) => x !== null && y !== null);
      if (pairs.length < of.length) return [];
      const ys = pairs.map(([, y]) => y), m = mean(ys);
      const sd = ys.length > 1 ? Math.sqrt(ys.reduce((sum, y) => sum + (y - m) ** 2, 0) / (ys.length - 1)) : 0;
      return [{ round, x: mean(pairs.map(([x]) => x)), y: m, sd }];
    });
    return {
      name: chosen.setting.length > 1 ? `${method}, ${setting}` : method, setting, method, points, seeds: of.length,
      colour: COLOURS[chosen.method.indexOf(method) % COLOURS.length],
      dash: DASHES[(chosen.setting.indexOf(setting) + Math.floor(chosen.method.indexOf(method) / COLOURS.length)) % DASHES.length],
    };
  }

  async function show() {
    const pairs = chosen.setting.flatMap(s => chosen.method.filter(m => runs[s][m]).map(m => [s, m, runs[s][m]]));
    try {
      const told = await Promise.all([...new Set(pairs.flatMap(([, , ids]) => ids.map(id => id.slice(-1))))].map(load));
      const known = Object.assign({}, ...told.map(each => each.runs));
      const names = [...new Set(pairs.flatMap(([, , ids]) => ids.flatMap(id => Object.keys(known[id].curves))))];
      choose('x', AXES.filter(name => name === 'Round' || names.includes(name)));
      choose('y', names.filter(name => !AXES.includes(name)));
      lines = pairs.map(([s, m, ids]) => line(s, m, ids.map(id => known[id]))).filter(each => each.points.length);
      draw();
    } catch (error) {
      lines = [];
      picture.replaceChildren(make('p', picture, `Nothing is drawn: ${error.message}.`));
    }
  }

  // Round numbers between two ends, about five of them.
  function ticks(low, high) {
    const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw);
    const all = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) all.push(Number(at.toPrecision(12)));
    return all;
  }
  const shown = (value, digits = 4) => Math.abs(value) >= 1e6 ? value.toExponential(1) : value.toLocaleString('en', { maximumSignificantDigits: digits });

  function draw() {
    picture.replaceChildren();
    if (!lines.length) return make('p', picture, 'Choose a method and a setting of which runs are there.');
    width = Math.max(340, Math.min(720, picture.clientWidth));
    right = width - 12;
    const all = lines.flatMap(each => each.points), xs = all.map(p => p.x);
    let low = Math.min(...all.map(p => p.y - p.sd)), high = Math.max(...all.map(p => p.y + p.sd));
    if (low === high) { low -= 1; high += 1; }
    const first = Math.min(0, ...xs), last = Math.max(...xs);
    const px = x => left + (right - left) * (x - first) / (last - first), py = y => bottom - (bottom - top) * (y - low) / (high - low);
    const svg = make('svg', picture, undefined, { viewBox: `0 0 ${width} ${height}`, role: 'img', tabindex: 0, xmlns: 'http://www.w3.org/2000/svg', 'font-size': 12, 'font-family': 'sans-serif' });
    svg.setAttribute('aria-label', `${chosen.y} over ${chosen.x.toLowerCase()}: ${lines.map(each => each.name).join(', ')}`);
    const ink = { fill: 'currentColor' }, rule = { stroke: 'currentColor', 'stroke-width': 0.5 };
    for (const x of ticks(first, last)) make('text', svg, shown(x), { x: px(x), y: bottom + 16, 'text-anchor': 'middle', ...ink });
    for (const y of ticks(low, high)) {
      make('path', svg, undefined, { d: `M${left} ${py(y)}H${right}`, opacity: 0.25, ...rule });
      make('text', svg, shown(y), { x: left - 6, y: py(y) + 4, 'text-anchor': 'end', ...ink });
    }
    make('path', svg, undefined, { d: `M${left} ${bottom}H${right}`, ...rule });
    make('text', svg, chosen.x, { x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle', ...ink });
    make('text', svg, chosen.y, { x: left + 6, y: top + 8, ...ink });
    for (const { points, colour, dash, name } of lines) {
      const path = (list, up) => list.map(p => `${px(p.x).toFixed(1)} ${py(p.y + up * p.sd).toFixed(1)}`).join('L');
      make('path', svg, undefined, { d: `M${path(points, 1)}L${path([...points].reverse(), -1)}Z`, fill: colour, opacity: 0.15 });
      const drawn = make('path', svg, undefined, { d: `M${path(points, 0)}`, fill: 'none', stroke: colour, 'stroke-width': 1.8, 'stroke-dasharray': dash });
      make('title', drawn, name);
    }
    tell(svg, px, [first, last]);
  }

  // The legend: each line with its value at the pointer, or at the end.
  function tell(svg, px, [first, last]) {
    const guide = make('path', svg, undefined, { class: 'guide' });
    const head = make('p', picture), list = make('ul', picture, undefined, { class: 'lines' });
    head.setAttribute('role', 'status');
    for (const each of lines) {
      const item = make('li', list), sample = make('svg', item, undefined, { viewBox: '0 0 26 8', 'aria-hidden': true });
      make('path', sample, undefined, { d: 'M0 4H26', stroke: each.colour, 'stroke-width': 2.4, 'stroke-dasharray': each.dash });
      make('span', item, `${each.name} `);
      each.value = make('b', item);
    }
    const stops = [...new Set(lines.flatMap(each => each.points.map(p => p.x)))].sort((a, b) => a - b);
    let stop = stops.length - 1;
    const say = () => {
      const x = stops[stop];
      guide.setAttribute('d', `M${px(x)} ${top}V${bottom}`);
      head.textContent = `${chosen.y} at ${chosen.x.toLowerCase()} ${shown(x)}, mean ± standard deviation over the seeds`;
      for (const each of lines) {
        const near = each.points.reduce((best, p) => Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best);
        each.value.textContent = `${shown(near.y)}${each.seeds > 1 ? ` ± ${shown(near.sd, 2)}` : ''} (${each.seeds})`;
      }
    };
    svg.addEventListener('pointermove', event => {
      const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * width;
      const x = first + (at - left) / (right - left) * (last - first);
      stop = stops.reduce((best, value, i) => Math.abs(value - x) < Math.abs(stops[best] - x) ? i : best, 0);
      say();
    });
    svg.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      stop = Math.min(stops.length - 1, Math.max(0, stop + step));
      say();
    });
    say();
  }

  function save(name, text, type) {
    const link = make('a', section, undefined, { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    link.remove();
  }
  section.querySelector('.csv').addEventListener('click', () => {
    const quoted = text => `"${String(text).replaceAll('"', '""')}"`;
    const rows = lines.flatMap(each => each.points.map(p => [quoted(each.setting), quoted(each.method), p.round, p.x, p.y, each.seeds > 1 ? p.sd : '', each.seeds]));
    const head = ['setting', 'method', 'round', quoted(chosen.x), quoted(chosen.y), 'std', 'seeds'];
    save('curves.csv', [head, ...rows].map(row => row.join(',')).join('\n') + '\n', 'text/csv');
  });
  section.querySelector('.svg').addEventListener('click', () => {
    const svg = picture.querySelector('svg');
    if (!svg) return;
    const copy = svg.cloneNode(true), names = lines.map(each => each.name);
    copy.setAttribute('viewBox', `0 0 ${width} ${height + 18 * names.length}`);
    lines.forEach((each, i) => {
      const y = height + 12 + 18 * i;
      make('path', copy, undefined, { d: `M${left} ${y - 4}h26`, stroke: each.colour, 'stroke-width': 2, 'stroke-dasharray': each.dash });
      make('text', copy, `${each.name} (${each.seeds} ${each.seeds === 1 ? 'seed' : 'seeds'})`, { x: left + 34, y });
    });
    copy.querySelector('.guide').remove();
    save('curves.svg', copy.outerHTML, 'image/svg+xml');
  });

  boxes('setting', settings);
  boxes('method', methods);
  for (const name of ['x', 'y']) {
    section.querySelector(`select.${name}`).addEventListener('change', event => { chosen[name] = event.target.value; write(); show(); });
  }
  // Runs are loaded when the section is near, or asked for by the address.
  const asked = () => location.hash.startsWith('#side-by-side');
  new IntersectionObserver((seen, watch) => {
    if (seen.some(each => each.isIntersecting)) { watch.disconnect(); show(); }
  }, { rootMargin: '600px' }).observe(section);
  if (asked()) section.scrollIntoView();
  addEventListener('load', () => { if (asked()) section.scrollIntoView(); });  // tables above have their size by now
  addEventListener('hashchange', () => {
    if (!asked()) return;
    Object.assign(chosen, read());
    for (const name of ['setting', 'method']) {
      for (const label of section.querySelectorAll(`fieldset.${name} label`)) label.firstChild.checked = chosen[name].includes(label.textContent);
    }
    section.scrollIntoView();
    show();
  });
})();
