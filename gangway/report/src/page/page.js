"use strict";
// Draws the lanes, the critical path and the gangs. Two ways to draw a lane: stretch by stretch where there is room, else column by column, each with the
// parts of its time; those come from sums that are kept for every BLOCK stretches, so that a redraw costs the same for a thousand stretches and for a million.
// What was drawn is told in attributes of the root element (data-*): for tests.
(() => {
  const root = document.documentElement;
  window.addEventListener("error", event => { root.dataset.error = event.message; });
  const started = performance.now();
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = text => {
    const bytes = atob(text), out = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) out[i] = bytes.charCodeAt(i);
    return new Uint32Array(out.buffer);
  };
  const KINDS = data.kinds.length, BLOCK = 64, LANE = 28, GAP = 5, AXIS = 24, LEFT = 150;
  const whole = Math.max(1, Math.round((data.end - data.begin) / data.tick));
  const path = words(data.path), gangs = words(data.gangs);
  const lanes = data.lanes.map(lane => {
    const w = words(lane.data), n = lane.count;
    const sums = new Float64Array((Math.floor(n / BLOCK) + 1) * KINDS), sum = new Float64Array(KINDS);
    for (let i = 0; i < n; i++) {
      if (i % BLOCK === 0) sums.set(sum, i / BLOCK * KINDS);
      sum[w[4 * i + 2] & 15] += w[4 * i + 1];
    }
    if (n % BLOCK === 0) sums.set(sum, n / BLOCK * KINDS);
    return { name: lane.name, w, n, sums };
  });
  lanes.forEach(lane => { lane.data = null; });

  // The first stretch that ends after t.
  const after = (lane, t) => {
    let low = 0, high = lane.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.w[4 * middle] + lane.w[4 * middle + 1] <= t) low = middle + 1; else high = middle;
    }
    return low;
  };
  // Time by kind before t.
  const until = (lane, t, out) => {
    const index = after(lane, t), block = Math.floor(index / BLOCK);
    for (let k = 0; k < KINDS; k++) out[k] = lane.sums[block * KINDS + k];
    for (let i = block * BLOCK; i < index; i++) out[lane.w[4 * i + 2] & 15] += lane.w[4 * i + 1];
    if (index < lane.n && lane.w[4 * index] < t) out[lane.w[4 * index + 2] & 15] += t - lane.w[4 * index];
  };

  const gantt = document.getElementById("gantt"), tip = document.getElementById("tip"), showPath = document.getElementById("show-path");
  const gangCanvas = document.getElementById("gangs");
  let from = 0, to = whole, colours = [], text = "", soft = "", line = "", accent = "", card = "";
  const readColours = () => {
    const style = getComputedStyle(root), get = name => style.getPropertyValue(name).trim();
    colours = data.kinds.map((_, k) => get("--k" + k));
    [text, soft, line, accent, card] = ["--text", "--soft", "--line", "--accent", "--card"].map(get);
  };
  const time = ticks => {
    const us = ticks * data.tick;
    return us < 1 ? (us * 1000).toFixed(0) + " ns" : us < 1000 ? us.toFixed(us < 10 ? 2 : 1) + " us" : us < 1e6 ? (us / 1000).toFixed(us < 1e4 ? 2 : 1) + " ms" : (us / 1e6).toFixed(2) + " s";
  };
  const prepare = (canvas, height) => {
    const width = canvas.clientWidth || 1200, ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = "12px system-ui, 'DejaVu Sans', sans-serif"; c.textBaseline = "middle";
    return [c, width];
  };
  const axis = (c, width, x, bottom) => {
    const span = to - from, rough = span / Math.max(2, (width - LEFT) / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
    c.strokeStyle = line; c.fillStyle = soft; c.textAlign = "center"; c.lineWidth = 1; c.beginPath();
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const at = Math.round(x(t)) + .5;
      c.moveTo(at, AXIS - 5); c.lineTo(at, bottom);
      if (at > LEFT + 20 && at < width - 25) c.fillText(time(t), at, 9);
    }
    c.stroke();
  };

  // One lane; returns how many rectangles were drawn.
  const before = new Float64Array(KINDS), behind = new Float64Array(KINDS);
  const drawLane = (c, lane, top, width, x) => {
    const first = after(lane, from), last = Math.min(lane.n, after(lane, to) + 1), pixels = width - LEFT;
    let drawn = 0;
    if (last - first <= pixels) {
      c.textAlign = "left";
      for (let i = first; i < last; i++) {
        const b = lane.w[4 * i], e = b + lane.w[4 * i + 1], left = Math.max(LEFT, x(b)), right = Math.min(width, x(e));
        if (right <= LEFT || left >= width) continue;
        const kind = lane.w[4 * i + 2] & 15, name = lane.w[4 * i + 2] >>> 4, long = right - left;
        c.fillStyle = colours[kind];
        c.fillRect(left, top, Math.max(.6, long - (long > 3 ? .6 : 0)), LANE);
        drawn++;
        if (long > 46 && name) {
          c.save(); c.beginPath(); c.rect(left, top, long - 3, LANE); c.clip();
          c.fillStyle = kind < data.works ? card : text;
          c.fillText(data.names[name - 1], left + 5, top + LANE / 2 + .5); c.restore();
        }
      }
      return drawn;
    }
    const ticks = (to - from) / pixels;
    until(lane, from, before);
    for (let p = 0; p < pixels; p++) {
      until(lane, from + (p + 1) * ticks, behind);
      let bottom = top + LANE;
      for (let k = 0; k < KINDS; k++) {
        const share = (behind[k] - before[k]) / ticks;
        if (share > .004) {
          const height = share * LANE;
          c.fillStyle = colours[k]; c.fillRect(LEFT + p, bottom - height, 1, height);
          bottom -= height; drawn++;
        }
        before[k] = behind[k];
      }
    }
    return drawn;
  };

  const drawPath = (c, width, x) => {
    c.strokeStyle = accent; c.fillStyle = accent; c.lineWidth = 1.2;
    let links = 0, lastX = -1, lastLane = -1;
    c.beginPath();
    for (let i = 0; i < path.length; i += 3) {
      const lane = path[i], b = x(path[i + 1]), e = x(path[i + 2]);
      if (e < LEFT) { lastLane = lane; lastX = e; continue; }
      if (b > width) break;
      const y = AXIS + lane * (LANE + GAP) + LANE + 1;
      const left = Math.max(LEFT, b);
      // Links within a pixel of each other are one.
      if (lane === lastLane && e - lastX < .7) continue;
      if (lastLane >= 0 && lastLane !== lane && b >= LEFT && left - lastX > -1) {
        c.moveTo(Math.max(LEFT, Math.min(lastX, left)), AXIS + lastLane * (LANE + GAP) + LANE + 1); c.lineTo(left, y);
      }
      c.fillRect(left, y - 1.5, Math.max(1, Math.min(width, e) - left), 3);
      links++; lastX = e; lastLane = lane;
    }
    c.globalAlpha = .55; c.stroke(); c.globalAlpha = 1;
    return links;
  };

  const draw = () => {
    const begin = performance.now(), height = AXIS + lanes.length * (LANE + GAP) + 4;
    const [c, width] = prepare(gantt, height), x = t => LEFT + (t - from) / (to - from) * (width - LEFT);
    c.clearRect(0, 0, width, height);
    axis(c, width, x, height);
    let rectangles = 0, drawnLanes = 0;
    lanes.forEach((lane, i) => {
      const top = AXIS + i * (LANE + GAP), drawn = drawLane(c, lane, top, width, x);
      rectangles += drawn; drawnLanes += drawn > 0 ? 1 : 0;
      c.fillStyle = text; c.textAlign = "left";
      c.fillText(lane.name.replace(/ \(thread \d+\)/, ""), 4, top + LANE / 2);
    });
    const links = showPath.checked ? drawPath(c, width, x) : 0;
    drawGangs();
    Object.assign(root.dataset, { drawn: drawnLanes, rectangles, links, drawMs: (performance.now() - begin).toFixed(1) });
  };

  const rows = [];
  const placeGangs = () => {
    const ends = [];
    for (let i = 0; i < gangs.length; i += 6) {
      let row = ends.findIndex(end => end <= gangs[i + 3]);
      if (row < 0) row = ends.length < 16 ? ends.length : 15;
      ends[row] = gangs[i + 5]; rows.push(row);
    }
    return Math.max(1, ends.length);
  };
  const gangRows = placeGangs();
  const drawGangs = () => {
    if (!gangCanvas) return;
    const height = AXIS + gangRows * 14 + 4, [c, width] = prepare(gangCanvas, height), x = t => 4 + (t - from) / (to - from) * (width - 8);
    c.clearRect(0, 0, width, height);
    axis(c, width, x, height);
    let last = [];
    for (let i = 0; i < gangs.length; i += 6) {
      const queued = x(gangs[i + 3]), b = x(gangs[i + 4]), e = x(gangs[i + 5]), row = rows[i / 6], y = AXIS + row * 14;
      if (e < 0 || queued > width || (last[row] !== undefined && e - last[row] < .5)) continue;
      c.fillStyle = colours[5]; c.fillRect(queued, y, Math.max(0, b - queued), 11);
      c.fillStyle = colours[[1, 2, 3, 0][gangs[i + 1] & 3]]; c.fillRect(b, y, Math.max(1, e - b), 11);
      if (e - b > 60) { c.fillStyle = card; c.textAlign = "left"; c.fillText(gangs[i + 2] + " threads", b + 4, y + 6); }
      last[row] = e;
    }
  };

  // ---- moving about ----
  let waits = false;
  const later = () => { if (!waits) { waits = true; requestAnimationFrame(() => { waits = false; draw(); }); } };
  const show = (begin, end) => {
    const span = Math.min(whole, Math.max(20, end - begin));
    from = Math.min(Math.max(0, begin), whole - span); to = from + span;
    later();
  };
  const zoom = (factor, share) => {
    const at = from + (to - from) * share, span = (to - from) * factor;
    show(at - span * share, at + span * (1 - share));
  };
  const share = event => Math.min(1, Math.max(0, (event.offsetX - LEFT) / (gantt.clientWidth - LEFT)));
  gantt.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(event.deltaY * .0015), share(event)); }, { passive: false });
  let held = null;
  gantt.addEventListener("pointerdown", event => { held = [event.clientX, from, to]; gantt.setPointerCapture(event.pointerId); gantt.style.cursor = "grabbing"; });
  gantt.addEventListener("pointerup", () => { held = null; gantt.style.cursor = "grab"; });
  gantt.addEventListener("pointermove", event => {
    if (held) {
      const moved = (event.clientX - held[0]) / (gantt.clientWidth - LEFT) * (held[2] - held[1]);
      show(held[1] - moved, held[2] - moved);
    }
    point(event);
  });
  gantt.addEventListener("pointerleave", () => { tip.hidden = true; });
  gantt.addEventListener("dblclick", () => show(0, whole));
  gantt.addEventListener("keydown", event => {
    const span = to - from, keys = { "+": () => zoom(.6, .5), "=": () => zoom(.6, .5), "-": () => zoom(1.6, .5), "0": () => show(0, whole), ArrowLeft: () => show(from - span / 5, to - span / 5), ArrowRight: () => show(from + span / 5, to + span / 5) };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  document.getElementById("in").onclick = () => zoom(.5, .5);
  document.getElementById("out").onclick = () => zoom(2, .5);
  document.getElementById("all").onclick = () => show(0, whole);
  showPath.onchange = later;
  const describe = (lane, t) => {
    const i = after(lane, t);
    if (i >= lane.n || lane.w[4 * i] > t) return null;
    const meta = lane.w[4 * i + 2], name = meta >>> 4, task = lane.w[4 * i + 3];
    return (name ? data.names[name - 1] + "\n" : "") + data.kinds[meta & 15] + ", " + time(lane.w[4 * i + 1]) + (task ? "\ntask " + task : "") + "\nat " + time(lane.w[4 * i]) + "\n" + lane.name;
  };
  const point = event => {
    const index = Math.floor((event.offsetY - AXIS) / (LANE + GAP)), lane = lanes[index];
    const said = lane && event.offsetX >= LEFT ? describe(lane, from + (to - from) * share(event)) : null;
    tip.hidden = !said;
    if (said) {
      tip.textContent = said;
      tip.style.left = Math.min(event.offsetX + 14, gantt.clientWidth - tip.offsetWidth - 4) + "px";
      tip.style.top = event.offsetY + 16 + "px";
    }
  };
  window.addEventListener("resize", later);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); later(); });

  readColours();
  draw();
  const stretches = lanes.reduce((sum, lane) => sum + lane.n, 0);
  const totals = data.kinds.map((_, k) => lanes.reduce((sum, lane) => { until(lane, whole + 1, behind); return sum + behind[k]; }, 0) * data.tick);
  Object.assign(root.dataset, { lanes: lanes.length, stretches, totals: totals.map(t => t.toFixed(3)).join(" "), loadMs: (performance.now() - started).toFixed(0) });
  // Redraws at all depths of zoom, for who asks how long they take.
  if (location.hash === "#measure") {
    let longest = 0;
    for (let i = 0; i < 24; i++) {
      const span = whole / 1.7 ** i, middle = whole * (.1 + .8 * ((i * 7) % 10) / 10);
      from = Math.max(0, middle - span / 2); to = Math.min(whole, from + span);
      const begin = performance.now();
      draw();
      longest = Math.max(longest, performance.now() - begin);
    }
    from = 0; to = whole; draw();
    root.dataset.redrawMs = longest.toFixed(1);
  }
  root.dataset.ready = "yes";
})();
