// Shows the run that the address names, from the script that holds it among others.
const main = document.getElementById('run');
const runs = main.dataset.runs;

function make(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function link(text, href, parent) {
  const made = make('a', text, parent);
  made.href = href;
  return made;
}

function draw(tag, attributes, parent) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

// A setting as YAML would say it: 'digits(train=60)', 'mfl(beta=0.9) + asd'.
function words(value) {
  if (value === null) return 'none';
  if (Array.isArray(value)) return value.map(words).join(value.some(x => typeof x === 'number') ? ', ' : ' + ') || 'none';
  if (typeof value !== 'object') return String(value);
  return Object.entries(value).map(([name, x]) => x !== null && typeof x === 'object' && !Array.isArray(x)
    ? `${name}(${Object.entries(x).map(([k, v]) => `${k}=${words(v)}`).join(', ')})`
    : `${name}: ${words(x)}`).join(', ');
}

function facts(rows, parent) {
  const list = make('dl', undefined, parent);
  list.className = 'making';
  for (const [name, text] of rows) {
    const row = make('div', undefined, list);
    make('dt', name, row);
    make('dd', text, row);
  }
}

// A number in at most seven letters, which is the room beside a curve: '84.5', '0.0166', '3.5e-7'.
function brief(y) {
  const size = Math.abs(y);
  return y !== 0 && (size < 0.001 || size >= 100000) ? y.toExponential(1) : String(Number(y.toPrecision(3)));
}

// One curve over the rounds, with the value under the pointer or the arrow keys.
function curve(name, xs, ys, parent) {
  const figure = make('figure', undefined, parent);
  const caption = make('figcaption', undefined, figure);
  const seen = ys.map((y, i) => [xs[i], y]).filter(([, y]) => y !== null);
  const values = seen.map(([, y]) => y);
  let low = Math.min(...values), high = Math.max(...values);
  if (low === high) { low -= 1; high += 1; }
  const first = seen[0][0], last = seen[seen.length - 1][0];
  const px = x => 50 + 302 * (last === first ? 0.5 : (x - first) / (last - first));
  const py = y => 8 + 134 * (high - y) / (high - low);
  const svg = draw('svg', { viewBox: '0 0 360 170', role: 'img', tabindex: 0 }, figure);
  draw('path', { d: 'M50 142.5H352', class: 'axis' }, svg);
  draw('path', { d: 'M' + seen.map(([x, y]) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join('L'), class: 'curve' }, svg);
  const dot = draw('circle', { r: 3.5, class: 'dot' }, svg);
  for (const [x, y, anchor, text] of [[50, 160, 'start', first], [352, 160, 'end', `round ${last}`], [44, 14, 'end', brief(high)], [44, 144, 'end', brief(low)]]) {
    draw('text', { x, y, 'text-anchor': anchor }, svg).textContent = text;
  }
  let at = seen.length - 1;
  function tell() {
    const [x, y] = seen[at];
    dot.setAttribute('cx', px(x));
    dot.setAttribute('cy', py(y));
    caption.textContent = `${name}: ${y} after round ${x}`;
    svg.setAttribute('aria-label', caption.textContent);
  }
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * 360;
    at = seen.reduce((best, [rx], i) => Math.abs(px(rx) - x) < Math.abs(px(seen[best][0]) - x) ? i : best, 0);
    tell();
  });
  svg.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    at = Math.min(seen.length - 1, Math.max(0, at + step));
    tell();
  });
  tell();
}

function show(id, run, shared) {
  make('h1', id, main);
  const papers = make('p', 'Shown on the page of ', main);
  run.papers.forEach((key, i) => { if (i) papers.append(', '); link(key, `${key}.html`, papers); });
  const made = shared[run.made], data = shared[run.data];
  facts([
    ['status', `${run.status} after ${run.rounds} rounds, ${run.seconds} s${run.ended ? `, on ${run.ended.replace('T', ' ').replace('+00:00', ' UTC')}` : ''}`],
    ['made with', Object.entries(made).filter(([, x]) => x).map(([k, x]) => k === 'device' ? x : `${k} ${x}`).join(', ')],
    ['data', Object.entries(data).map(([k, x]) => `${k}: ${x}`).join(', ')],
    ['checksum', run.sha256 ? `sha256 of rounds.parquet: ${run.sha256}` : 'none'],
  ], main);
  make('h2', 'Curves', main);
  if (run.points > run.x.length) make('p', `They show ${run.x.length} of the ${run.points} rounds in the history, evenly spaced.`, main).className = 'caption';
  const curves = make('div', undefined, main);
  curves.className = 'curves';
  for (const [name, ys] of Object.entries(run.curves)) curve(name, run.x, ys, curves);
  make('h2', 'Settings', main);
  make('p', 'All that differ from the defaults, as the run used them; run.json in the folder has every setting.', main).className = 'caption';
  const chosen = run.chosen || {};
  facts(Object.entries(run.settings).map(([k, x]) => [k, words(x) + (chosen[k] ? ` (${chosen[k]})` : '')]), main);
  make('h2', 'Files', main);
  const folder = make('p', undefined, main);
  link('Folder of the run', `${runs}/${encodeURIComponent(id)}/`, folder);
  folder.append(', where it was trained or restored with "fedbench restore": run.json (settings, versions, timings), rounds.parquet (every evaluated round) and the tables of its probes.');
  make('p', 'In MLflow, where runs that were trained are copied, a tag has its id. Start MLflow in the folder that holds the results, then search for the line below it.', main);
  make('pre', `mlflow server --host 127.0.0.1 --backend-store-uri sqlite:///results/mlflow.db\ntags.\`fedbench.run_id\` = "${id}"`, main);
}

function refuse(id) {
  make('h1', id || 'No run is named', main);
  make('p', id ? 'This run has not been collected: it is missing, or not of this report.' : 'Links in tables and below claims lead here.', main);
}

let loaded = {};
function open() {
  const id = decodeURIComponent(location.hash.slice(1)), letter = id.slice(-1);
  main.replaceChildren();
  document.title = `${id || 'Run'} · fedbench`;
  if (!/^[0-9a-f]$/.test(letter)) return refuse(id);
  const tell = () => Object.hasOwn((loaded[letter] || {}).runs || {}, id)
    ? show(id, loaded[letter].runs[id], loaded[letter].facts) : refuse(id);
  if (loaded[letter]) return tell();
  window.showRuns = data => { loaded[letter] = data; };
  const script = document.createElement('script');
  script.src = `runs/${letter}.js`;
  script.onload = tell;
  script.onerror = () => refuse(id);
  document.head.append(script);
}
addEventListener('hashchange', open);
open();
