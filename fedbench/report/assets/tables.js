// Tables sort by a click on a column's head, or the Enter key there; tables and claims can be
// filtered by words.
(() => {
  const first = text => {
    const number = text.trim().match(/^[+−-]?[\d,]*\.?\d+(e[+−-]?\d+)?/);
    return number ? parseFloat(number[0].replaceAll('−', '-').replaceAll(',', '')) : -Infinity;
  };
  Tablesort.extend('amount', () => false, (a, b) => first(b) === first(a) ? 0 : first(b) - first(a));

  // Heads that span several rows are repeated in each, so that rows can change places.
  function unspan(table) {
    for (const head of table.querySelectorAll('tbody th[rowspan]')) {
      const rows = [...head.closest('tbody').rows], at = rows.indexOf(head.parentElement);
      const place = [...head.parentElement.cells].indexOf(head), span = head.rowSpan;
      head.removeAttribute('rowspan');
      for (const row of rows.slice(at + 1, at + span)) {
        row.insertBefore(head.cloneNode(true), row.cells[place] || null);
      }
    }
  }

  function filter(table, words) {
    unspan(table);
    for (const body of table.tBodies) {
      const title = body.querySelector('.group');
      for (const row of body.rows) {
        if (row === title) continue;
        const text = `${title ? title.textContent : ''} ${row.textContent}`.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
      }
      body.hidden = [...body.rows].every(row => row === title || row.hidden);
    }
  }

  // A field whose words are given to `use` as they are typed.
  function search(what, where, use) {
    const field = document.createElement('input');
    field.type = 'search';
    field.className = 'filter';
    field.placeholder = what;
    field.setAttribute('aria-label', `${what}: ${where}`);
    field.addEventListener('input', () => use(field.value.toLowerCase().split(/\s+/).filter(Boolean)));
    return field;
  }

  // A table that is too wide has its deviations below the means.
  function tighten(region) {
    region.classList.remove('tight');
    region.classList.toggle('tight', region.scrollWidth - region.clientWidth > 1);
  }

  // Readers see whether a region hides columns, and whether it was moved. At the last column the
  // button keeps its room: were the table to move up, a click on its head would miss.
  function hint(region) {
    const beyond = region.scrollWidth - region.clientWidth, hidden = beyond - region.scrollLeft;
    region.classList.toggle('more', hidden > 1);
    region.classList.toggle('moved', region.scrollLeft > 1);
    const says = region.previousElementSibling;
    if (!says || !says.classList.contains('further')) return;
    says.hidden = beyond <= 1;
    says.disabled = hidden <= 1;
  }

  function further(region) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'further';
    button.textContent = 'more columns to the right →';
    button.hidden = true;
    button.addEventListener('click', () => region.scrollBy({ left: region.clientWidth / 2 }));
    region.before(button);
  }
  const watch = new ResizeObserver(all => all.forEach(each => {
    if (each.target.matches('.scroll')) tighten(each.target);
    hint(each.target.closest('.scroll'));
  }));
  for (const region of document.querySelectorAll('.scroll')) {
    further(region);
    region.addEventListener('scroll', () => hint(region));
    watch.observe(region);
    watch.observe(region.firstElementChild);
  }

  for (const table of document.querySelectorAll('table.sorts')) {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const rows = [...table.querySelectorAll('tbody tr:not(.group)')];
    heads.forEach((head, column) => {
      const texts = rows.map(row => row.cells[row.cells.length - heads.length + column])
        .filter(Boolean).map(cell => cell.textContent.trim()).filter(text => text && text !== '–');
      const numbers = texts.filter(text => first(text) > -Infinity).length;
      if (2 * numbers > texts.length) head.setAttribute('data-sort-method', 'amount');
    });
    table.addEventListener('beforeSort', () => unspan(table));
    new Tablesort(table, { descending: false });
    if (rows.length < 8) continue;
    const field = search('filter rows', table.parentElement.getAttribute('aria-label'), words => filter(table, words));
    table.parentElement.previousElementSibling.before(field);
  }

  for (const section of document.querySelectorAll('#claims, #own')) {
    const cards = [...section.querySelectorAll('.claim')];
    if (cards.length < 3) continue;
    cards[0].before(search('filter claims', section.querySelector('h2').textContent, words => cards.forEach(card => {
      card.hidden = !words.every(word => card.textContent.toLowerCase().includes(word));
    })));
  }
})();
