'use strict';
// The functions that the options of the figures name. They know nothing of
// schedulers: a figure's numbers and words come with its option.

function eschedGroup(text) {
  const [whole, part] = text.split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part === undefined ? '' : '.' + part);
}
function eschedNumber(value) {
  return eschedGroup(String(Number(Number(value).toPrecision(6))));
}
function eschedPercent(value) {
  return String(Number((100 * value).toPrecision(4)));
}
function eschedTooltip(p) {
  let name = p.data && p.data.name ? p.data.name : p.seriesName;
  if (/^[0-9]/.test(name)) name = p.seriesName + ', one trial: ' + name;
  return echarts.format.encodeHTML(name);
}
// An interval is a line with caps. Its ends are cut off at the plot's edge.
function eschedWhisker(api, a, b, across) {
  const cap = 5, style = { stroke: api.visual('color'), lineWidth: 2, fill: null };
  const line = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style });
  const caps = across
    ? [line(a[0], a[1] - cap, a[0], a[1] + cap), line(b[0], b[1] - cap, b[0], b[1] + cap)]
    : [line(a[0] - cap, a[1], a[0] + cap, a[1]), line(b[0] - cap, b[1], b[0] + cap, b[1])];
  return { type: 'group', children: [line(a[0], a[1], b[0], b[1]), ...caps] };
}
function eschedClip(params, point) {
  const r = params.coordSys;
  return [Math.max(r.x, Math.min(r.x + r.width, point[0])), Math.max(r.y, Math.min(r.y + r.height, point[1]))];
}
function eschedIntervalX(params, api) {
  return eschedWhisker(api, eschedClip(params, api.coord([api.value(0), api.value(1)])), eschedClip(params, api.coord([api.value(2), api.value(1)])), true);
}
function eschedIntervalY(params, api) {
  return eschedWhisker(api, eschedClip(params, api.coord([api.value(0), api.value(1)])), eschedClip(params, api.coord([api.value(0), api.value(2)])), false);
}
// Bars lie along the x axis, from value 0 to value 2, in the row of value 1.
function eschedRectangle(params, api, from, to, high) {
  const at = api.coord([api.value(0), api.value(1)]), end = api.coord([api.value(2), api.value(1)]), row = api.size([0, 1])[1];
  const a = eschedClip(params, at), b = eschedClip(params, end);
  return { type: 'rect', shape: { x: a[0], y: at[1] - row / 2 + from * row, width: Math.max(b[0] - a[0], 0.6), height: (to - from) * row }, style: { fill: api.visual('color'), stroke: high ? eschedPaper() : null, lineWidth: high ? 0.7 : 0 } };
}
function eschedPaper() { return getComputedStyle(document.documentElement).getPropertyValue('--paper').trim(); }
function eschedBar(params, api) { return eschedRectangle(params, api, 0.18, 0.86, true); }
function eschedThinBar(params, api) { return eschedRectangle(params, api, 0.02, 0.16, false); }
// A field of a grid holds its label, so that colour never says anything alone.
function eschedCell(params, api) {
  const at = api.coord([api.value(0), api.value(1)]), size = api.size([1, 1]);
  const css = getComputedStyle(document.documentElement);
  return {
    type: 'group',
    children: [
      { type: 'rect', shape: { x: at[0] - size[0] / 2 + 1, y: at[1] - size[1] / 2 + 1, width: size[0] - 2, height: size[1] - 2 }, style: { fill: api.visual('color') } },
      { type: 'text', style: { text: eschedLabels[params.seriesId + '/' + params.dataIndex] || '', x: at[0], y: at[1], align: 'center', verticalAlign: 'middle', fill: css.getPropertyValue('--ink').trim(), fontSize: Math.min(13, Math.max(9, size[0] / 4.5)), fontFamily: eschedFont() } },
    ],
  };
}
// A row's label stands in the margin at the right.
function eschedRowLabel(params, api) {
  const r = params.coordSys, at = api.coord([api.value(0), api.value(1)]);
  const css = getComputedStyle(document.documentElement);
  return {
    type: 'text',
    style: {
      text: eschedLabels[params.seriesId + '/' + params.dataIndex] || '', x: r.x + r.width + 12, y: at[1],
      verticalAlign: 'middle', fill: css.getPropertyValue('--ink').trim(), fontSize: 12, lineHeight: 15, fontFamily: eschedFont(),
    },
  };
}
const eschedLabels = {};
// The width of a text in pixels.
function eschedWidth(text, size) {
  eschedPen.font = size + 'px ' + eschedFont();
  return eschedPen.measureText(text).width;
}
const eschedPen = document.createElement('canvas').getContext('2d');
// The number of lines that a text takes in so many pixels. ECharts breaks lines
// after these characters, and longer parts anywhere.
function eschedLines(text, width, size) {
  let lines = 0;
  for (const written of text.split('\n')) {
    let line = '';
    lines++;
    for (const part of written.split(/(?<=[ ,&?/;\]])/)) {
      const wide = eschedWidth(line + part, size) > width;
      if (wide && line) lines++;
      if (wide) lines += Math.max(0, Math.ceil(eschedWidth(part, size) / width) - 1);
      line = wide ? part : line + part;
    }
  }
  return lines;
}
function eschedFont() { return getComputedStyle(document.body).fontFamily; }

(function () {
  const figures = window.eschedFigures || [];
  const drawn = [];

  // Colours are names of CSS variables, so that they follow the page.
  function resolve(node, css) {
    if (typeof node === 'string') {
      const m = /^var\((--[a-z0-9]+)\)$/.exec(node);
      return m ? css.getPropertyValue(m[1]).trim() : node;
    }
    if (Array.isArray(node)) return node.map((n) => resolve(n, css));
    if (node && typeof node === 'object') {
      const copy = {};
      for (const k of Object.keys(node)) copy[k] = resolve(node[k], css);
      return copy;
    }
    return node;
  }

  function draw(f) {
    const box = document.getElementById(f.id);
    const css = getComputedStyle(document.documentElement);
    let height = f.height;
    const width = box.clientWidth;
    if (!width) return; // on paper
    const old = echarts.getInstanceByDom(box);
    if (old) old.dispose();
    const option = resolve(f.option(), css);
    const narrow = width < 620, small = width < 460;
    option.backgroundColor = 'transparent';
    option.textStyle = { fontFamily: eschedFont() };
    Object.assign(option.tooltip, { confine: true, appendTo: 'body', backgroundColor: css.getPropertyValue('--soft').trim(), borderColor: css.getPropertyValue('--axis').trim(), textStyle: { color: css.getPropertyValue('--ink').trim(), fontSize: 13 }, extraCssText: 'white-space:normal;max-width:min(420px,90vw)' });
    const y = option.yAxis[0], names = option.xAxis[0].eschedNames;
    if (names) option.xAxis[0].axisLabel.formatter = (value) => names[Math.round(value)] || '';
    if (y.type === 'category') {
      const labels = option.series.filter((s) => s.name === 'labels');
      if (narrow) option.series = option.series.filter((s) => s.name !== 'labels');
      const longest = Math.max(0, ...labels.flatMap((s) => s.data.map((d) => Math.max(...d.value[2].split('\n').map((t) => t.length)))));
      option.grid.right = labels.length && !narrow ? Math.min(240, 30 + 7 * longest) : 24;
      Object.assign(y.axisLabel, { width: small ? 122 : narrow ? 170 : 280, overflow: 'break', lineHeight: 14 });
      const grid = option.xAxis[0];
      if (grid.type === 'category') {
        const room = (width - (small ? 160 : narrow ? 210 : 320)) / grid.data.length;
        Object.assign(grid.axisLabel, { interval: 0, hideOverlap: false, fontSize: 12, lineHeight: 13, rotate: room < 88 ? 60 : 0 });
        // Names break after slashes and hyphens.
        const lines = (name) => name.split(/(?<=[/-])|\s/).reduce((all, part) => {
          const last = all.length - 1;
          if (last >= 0 && (all[last].length + part.length) * 6.6 < room) all[last] += part; else all.push(part);
          return all;
        }, []).join('\n');
        if (room >= 88) grid.axisLabel.formatter = lines;
        // Names that are turned must not take the rows' height.
        else height += Math.max(0, Math.ceil(0.87 * Math.max(...grid.data.map((n) => eschedWidth(n, 12)))) - 56);
        grid.name = ''; // the names say what they are
        option.grid.bottom = 10;
      }
      // Names that wrap need taller rows; ECharts breaks some lines sooner.
      const lines = Math.max(0, ...y.data.map((n) => eschedLines(n, 0.85 * y.axisLabel.width, small ? 11 : 13)));
      height += Math.max(0, 14 * lines + 6 - 34) * y.data.length;
    }
    if (small) {
      option.xAxis[0].splitNumber = 4;
      option.xAxis[0].axisLabel.fontSize = 11;
      option.xAxis[0].nameTextStyle.fontSize = 12;
      y.axisLabel.fontSize = 11;
    }
    option.series.forEach((s, i) => {
      s.id = f.id + '-' + i;
      s.clip = s.type === 'custom' ? false : true;
      if (s.type === 'custom') s.silent = s.name === 'labels';
      if (s.name === 'labels') s.data.forEach((d, j) => { eschedLabels[s.id + '/' + j] = d.value[2]; });
      else if (s.type === 'custom') s.data.forEach((d, j) => { if (d.value.length > 3) eschedLabels[s.id + '/' + j] = d.value.pop(); });
      if (s.type === 'line') { s.z = 2; s.symbolKeepAspect = true; }
      if (s.type === 'scatter') s.z = s.itemStyle.opacity === 1 ? 4 : 3;
    });
    const front = option.series.find((s) => s.type !== 'custom');
    if (f.parity !== null && front) {
      front.markLine = { silent: true, symbol: 'none', animation: false, data: [{ xAxis: f.parity }], label: { show: false }, lineStyle: { color: css.getPropertyValue('--ink').trim(), type: 'solid', width: 1.2 } };
    }
    box.style.height = height + 'px';
    const chart = echarts.init(box, null, { renderer: 'svg', width, height });
    chart.setOption(option);
    drawn.push(f.id);
    const svg = box.querySelector('svg');
    if (svg) { svg.setAttribute('role', 'img'); svg.setAttribute('aria-label', f.alt); }
    box.dataset.drawn = 'yes';
  }
  function drawAll() { figures.forEach(draw); }

  if (window.echarts) {
    drawAll();
    let last = window.innerWidth, waiting = 0;
    window.addEventListener('resize', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { if (window.innerWidth !== last) { last = window.innerWidth; drawAll(); } }, 120);
    });
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawAll());
  }

  // Numbers are shown with commas, and found and sorted with or without them.
  function plain(text) { return text.replace(/(\d),(?=\d{3})/g, '$1'); }

  // Tables: a click on a column's head sorts.
  function valueOf(row, i) {
    const text = row.cells[i].textContent.trim();
    const bare = plain(text), number = Number(bare);
    return text === '–' ? null : text !== '' && !Number.isNaN(number) ? number : bare;
  }
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
  }
  function closeRows(table) {
    table.querySelectorAll('tr.open').forEach((r) => { r.previousElementSibling.setAttribute('aria-expanded', 'false'); r.remove(); });
  }
  document.querySelectorAll('table.sortable').forEach((table) => {
    const head = table.tHead.rows[0], body = table.tBodies[0];
    Array.from(head.cells).forEach((cell, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener('click', () => {
        const sign = cell.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
        Array.from(head.cells).forEach((c) => c.removeAttribute('aria-sort'));
        cell.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        closeRows(table);
        const rows = Array.from(body.rows).map((row) => [valueOf(row, i), row]);
        rows.sort((a, b) => compare(a[0], b[0], sign));
        body.append(...rows.map((r) => r[1]));
      });
    });
  });

  // The table of trials: filter, and details by click or Enter.
  const trials = document.getElementById('trials');
  if (!trials) return;
  const rows = Array.from(trials.tBodies[0].rows);
  const filter = document.getElementById('filter'), shown = document.getElementById('shown');
  document.querySelector('.filter').hidden = false;
  let texts = null;
  filter.addEventListener('input', () => {
    texts = texts || rows.map((r) => ' ' + Array.from(r.cells, (c) => plain(c.textContent.trim().toLowerCase())).join(' ') + ' ');
    closeRows(trials);
    // A number has to be a whole one: "4" is in the names of most trials.
    const words = plain(filter.value.toLowerCase()).split(/\s+/).filter(Boolean).map((w) => Number.isNaN(Number(w)) ? w : ' ' + w + ' ');
    let n = 0;
    rows.forEach((r, i) => { const on = words.every((w) => texts[i].includes(w)); r.hidden = !on; if (on) n++; });
    shown.textContent = eschedGroup(String(n)) + ' of ' + eschedGroup(String(rows.length)) + ' shown';
  });
  const source = document.getElementById('details');
  let details = null;
  function element(name, text) { const e = document.createElement(name); if (text !== undefined) e.textContent = text; return e; }
  function open(row) {
    if (row.nextElementSibling && row.nextElementSibling.classList.contains('open')) { row.nextElementSibling.remove(); row.setAttribute('aria-expanded', 'false'); return; }
    details = details || JSON.parse(source.textContent);
    const i = rows.indexOf(row), words = details.words, facts = details.facts[i], workers = details.workers ? details.workers[i] : [];
    const opened = element('tr'), cell = element('td'), list = element('dl');
    opened.className = 'open';
    cell.colSpan = row.cells.length;
    for (let k = 0; k < facts.length; k += 2) list.append(element('dt', words[facts[k]]), element('dd', words[facts[k + 1]]));
    if (workers.length) {
      const table = element('table'), head = element('tr');
      ['Worker', 'Tasks', 'Busy (s)'].forEach((h) => head.append(element('th', h)));
      table.append(head);
      for (let k = 0; k < workers.length; k += 3) {
        const r = element('tr');
        for (let c = 0; c < 3; c++) { const cell = element('td', words[workers[k + c]]); if (c) cell.className = 'n'; r.append(cell); }
        table.append(r);
      }
      const dd = element('dd');
      dd.append(table);
      list.append(element('dt', 'Workers'), dd);
    }
    cell.append(list);
    opened.append(cell);
    row.after(opened);
    row.setAttribute('aria-expanded', 'true');
  }
  rows.forEach((r) => { r.tabIndex = 0; });
  trials.tBodies[0].addEventListener('click', (e) => { const r = e.target.closest('tr'); if (r && rows.includes(r)) open(r); });
  trials.tBodies[0].addEventListener('keydown', (e) => { if (e.key === 'Enter' && rows.includes(e.target)) { e.preventDefault(); open(e.target); } });
})();
