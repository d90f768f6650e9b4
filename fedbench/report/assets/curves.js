// Curves tell their values under the pointer or the arrow keys; methods can be hidden.
(() => {
  function make(tag, parent, text) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // Where the value nearest to x stands among rising numbers.
  function nearest(xs, x) {
    return xs.reduce((best, value, i) => Math.abs(value - x) < Math.abs(xs[best] - x) ? i : best, 0);
  }

  // The lines in the legend, by the text beside each.
  function entries(svg) {
    const texts = svg.querySelectorAll('[id$="-legend_1"] text');
    return new Map([...texts].map(text => [text.textContent, text.parentElement.previousElementSibling]));
  }

  // A copy of a legend's line with its marker.
  function sample(line, parent) {
    const box = line.getBBox(), svg = document.createElementNS(line.namespaceURI, 'svg');
    const copy = line.cloneNode(true);
    for (const each of [copy, ...copy.querySelectorAll('[id]')]) each.removeAttribute('id');
    svg.setAttribute('viewBox', `${box.x - 1} ${box.y + box.height / 2 - 5} ${box.width + 2} 10`);
    svg.setAttribute('aria-hidden', 'true');
    svg.append(copy);
    parent.append(svg);
  }

  // The buttons stand in the place of a legend that says nothing more; on paper it is back.
  function replace(legend, bar, unit) {
    const top = legend.getBBox().y - 4;
    legend.classList.add('doubled');
    bar.style.marginTop = `${-100 * (unit.height - top) / unit.width}%`;
  }

  function enliven(figure, panels) {
    const svg = figure.querySelector('svg'), unit = svg.viewBox.baseVal;
    const bar = document.createElement('div'), chips = new Map(), inLegend = entries(svg);
    bar.className = 'series';
    svg.after(bar);
    const place = make('span', bar), spoken = make('span', bar);
    spoken.className = 'spoken';
    spoken.setAttribute('role', 'status');
    for (const line of panels.flatMap(panel => panel.lines)) {
      if (chips.has(line.label)) continue;
      const chip = make('button', bar);
      chip.type = 'button';
      chip.setAttribute('aria-pressed', 'true');
      const drawn = inLegend.get(line.said);
      if (drawn) sample(drawn, chip);
      else make('i', chip).style.background = line.colour;
      make('span', chip, line.said);
      const value = make('b', chip);
      chip.addEventListener('click', () => {
        const shown = chip.getAttribute('aria-pressed') !== 'true';
        chip.setAttribute('aria-pressed', shown);
        for (const each of panels.flatMap(panel => panel.lines).filter(x => x.label === line.label)) {
          for (const id of each.ids) {
            const drawn = document.getElementById(id);
            if (drawn) drawn.style.display = shown ? '' : 'none';
          }
        }
      });
      chips.set(line.label, value);
    }
    const said = panels.flatMap(panel => panel.lines).map(line => line.said);
    if (inLegend.size && [...inLegend.keys()].every(text => said.includes(text))) {
      replace(svg.querySelector('[id$="-legend_1"]'), bar, unit);
    }
    const guide = document.createElementNS(svg.namespaceURI, 'path');
    guide.setAttribute('class', 'guide');
    svg.append(guide);
    svg.setAttribute('tabindex', '0');
    let panel = panels[0], at = null;

    function tell(x) {
      const line = panel.lines.reduce((a, b) => a.x.length >= b.x.length ? a : b);
      at = line.x[nearest(line.x, x)];
      const [left, top, right, bottom] = panel.box;
      const px = left + (at - panel.x[0]) / (panel.x[1] - panel.x[0]) * (right - left);
      guide.setAttribute('d', `M${px} ${top}V${bottom}`);
      place.textContent = `${panel.title ? `${panel.title}, ` : ''}${panel.axis} ${at}`;
      for (const value of chips.values()) value.textContent = '';
      for (const each of panel.lines) {
        if (at <= each.x[each.x.length - 1]) {
          chips.get(each.label).textContent = each.y[nearest(each.x, at)] ?? '–';
        }
      }
    }
    svg.addEventListener('pointermove', event => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * unit.width;
      const y = (event.clientY - box.top) / box.height * unit.height;
      const under = panels.find(({ box: [l, t, r, b] }) => l <= x && x <= r && t <= y && y <= b);
      if (!under) return;
      panel = under;
      const [left, , right] = panel.box;
      tell(panel.x[0] + (x - left) / (right - left) * (panel.x[1] - panel.x[0]));
    });
    svg.addEventListener('keydown', event => {
      const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!along && !down) return;
      event.preventDefault();
      if (down) panel = panels[(panels.indexOf(panel) + down + panels.length) % panels.length];
      const xs = panel.lines.reduce((a, b) => a.x.length >= b.x.length ? a : b).x;
      const now = at === null ? xs.length - 1 : nearest(xs, at) + (along || 0);
      tell(xs[Math.min(xs.length - 1, Math.max(0, now))]);
      const values = [...chips].map(([label, value]) => `${label} ${value.textContent || 'none'}`);
      spoken.textContent = `${place.textContent}: ${values.join(', ')}`;
    });
  }

  for (const data of document.querySelectorAll('script.readout')) {
    enliven(data.closest('figure'), JSON.parse(data.textContent));
  }
})();
