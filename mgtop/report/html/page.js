"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("charts");
  const box = document.getElementById("timeline");
  const reading = document.getElementById("reading");
  const line = data.timeline;
  const LEFT = 8, RIGHT = 8, HEAD = 20, BODY = 74, GAP = 8, AXIS = 22;
  let from = 0, to = line.seconds, chosen = -1, pointer = null, drag = null;

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = s => {
    const whole = Math.floor(s), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
    const rest = String(whole % 60).padStart(2, "0");
    const tenth = to - from < 30 ? "." + Math.floor((s - whole) * 10) : "";
    return (h ? h + ":" + String(m).padStart(2, "0") : m) + ":" + rest + tenth;
  };
  const short = v => v === null || v === undefined ? "n/a"
    : Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en")
    : Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(2);

  function nice(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (value <= step * power) return step * power;
    return 10 * power;
  }
  function top(panel) {
    if (panel.limit) return panel.limit;
    let most = panel.target ? panel.target * 1.2 : 0;
    const n = line.columns, first = Math.floor(from / line.seconds * n), last = Math.ceil(to / line.seconds * n);
    for (const curve of panel.curves)
      for (let i = Math.max(0, first); i < Math.min(n, last); i++)
        if (curve.high[i] !== null && curve.high[i] > most) most = curve.high[i];
    return nice(most);
  }
  const x = s => LEFT + (s - from) / (to - from) * (canvas.clientWidth - LEFT - RIGHT);
  const at = px => from + (px - LEFT) / (canvas.clientWidth - LEFT - RIGHT) * (to - from);

  function draw() {
    const width = canvas.clientWidth, height = data.timeline.panels.length * (HEAD + BODY + GAP) + AXIS;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    const n = line.columns, wide = width - LEFT - RIGHT;
    const first = Math.max(0, Math.floor(from / line.seconds * n)), last = Math.min(n, Math.ceil(to / line.seconds * n));
    line.panels.forEach((panel, number) => {
      const y = number * (HEAD + BODY + GAP), scale = top(panel);
      pen.fillStyle = colour("--panel"); pen.fillRect(LEFT, y + HEAD, wide, BODY);
      pen.fillStyle = colour("--ink"); pen.font = "600 12px system-ui, sans-serif";
      pen.fillText(panel.title, LEFT, y + 14);
      const titled = pen.measureText(panel.title).width;
      pen.font = "12px system-ui, sans-serif"; pen.fillStyle = colour("--dim");
      pen.fillText(panel.reason && !panel.curves.length ? "n/a: " + panel.reason
        : "0–" + short(scale) + " " + panel.unit + (panel.period ? ", every " + panel.period : ""), LEFT + titled + 8, y + 14);
      let key = width - RIGHT;
      [...panel.curves].reverse().forEach(curve => {
        if (panel.curves.length < 2) return;
        const w = pen.measureText(curve.name).width; key -= w;
        pen.fillStyle = colour("--dim"); pen.fillText(curve.name, key, y + 14);
        key -= 12; pen.fillStyle = colour(curve.colour); pen.fillRect(key, y + 6, 9, 9); key -= 12;
      });
      pen.save(); pen.beginPath(); pen.rect(LEFT, y + HEAD, wide, BODY); pen.clip();
      for (const curve of panel.curves) {
        pen.fillStyle = pen.strokeStyle = colour(curve.colour);
        const each = wide / ((to - from) / line.seconds * n);
        for (let i = first; i < last; i++) {
          const high = curve.high[i], low = curve.low[i];
          if (high === null) continue;
          const px = x(i / n * line.seconds), up = Math.min(1, high / scale) * BODY, down = Math.min(1, low / scale) * BODY;
          if (curve.filled) pen.fillRect(px, y + HEAD + BODY - Math.max(1, up), Math.max(1, each), Math.max(1, up));
          else pen.fillRect(px, y + HEAD + BODY - up - 1, Math.max(1, each), Math.max(2, up - down));
        }
      }
      if (panel.target) {
        pen.strokeStyle = colour("--dim"); pen.setLineDash([4, 4]); pen.beginPath();
        const ty = y + HEAD + BODY - panel.target / scale * BODY; pen.moveTo(LEFT, ty); pen.lineTo(width - RIGHT, ty); pen.stroke(); pen.setLineDash([]);
      }
      pen.restore();
    });
    const bottom = height - AXIS;
    line.marks.forEach(mark => {
      if (mark.t < from || mark.t > to) return;
      pen.strokeStyle = colour("--mark"); pen.setLineDash([2, 3]); pen.beginPath(); pen.moveTo(x(mark.t), HEAD); pen.lineTo(x(mark.t), bottom); pen.stroke(); pen.setLineDash([]);
    });
    data.late.forEach((late, number) => {
      if (late.t < from || late.t > to) return;
      pen.strokeStyle = colour("--late"); pen.globalAlpha = number === chosen ? 1 : .45; pen.lineWidth = number === chosen ? 2 : 1;
      pen.beginPath(); pen.moveTo(x(late.t), HEAD); pen.lineTo(x(late.t), bottom); pen.stroke(); pen.lineWidth = 1; pen.globalAlpha = 1;
      pen.fillStyle = colour("--late"); pen.font = "600 11px system-ui, sans-serif"; pen.fillText(late.letter, x(late.t) - 4, HEAD - 8 + 20);
    });
    pen.fillStyle = colour("--dim"); pen.font = "12px system-ui, sans-serif";
    const step = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200].find(s => s / (to - from) * wide > 70) || 86400;
    for (let s = Math.ceil(from / step) * step; s <= to; s += step) {
      const px = x(s); pen.fillRect(px, bottom, 1, 5); if (px < width - 40) pen.fillText(clock(s), px + 3, bottom + 15);
    }
    if (pointer !== null) {
      pen.strokeStyle = colour("--ink"); pen.globalAlpha = .5; pen.beginPath(); pen.moveTo(pointer, 0); pen.lineTo(pointer, bottom); pen.stroke(); pen.globalAlpha = 1;
    }
  }
  function tell() {
    if (pointer === null) { reading.textContent = chosen >= 0 ? data.late[chosen].text : ""; return; }
    const s = at(pointer), i = Math.min(line.columns - 1, Math.max(0, Math.floor(s / line.seconds * line.columns)));
    const parts = line.panels.map(panel => panel.curves.map(curve => {
      const high = curve.high[i], low = curve.low[i];
      const value = high === null ? "n/a" : low === high ? short(high) : short(low) + "–" + short(high);
      return (panel.curves.length > 1 ? panel.title + " " + curve.name : panel.title) + " " + value + (high === null ? "" : " " + panel.unit);
    }).join(", ")).filter(text => text);
    reading.textContent = clock(s) + "  " + parts.join("  ·  ");
  }
  const paint = () => requestAnimationFrame(() => { draw(); tell(); });
  function show(a, b) {
    const least = Math.min(line.seconds, .2), size = Math.min(line.seconds, Math.max(least, b - a));
    from = Math.min(Math.max(0, a), line.seconds - size); to = from + size; paint();
  }
  function zoom(factor, centre) { show(centre - (centre - from) * factor, centre + (to - centre) * factor); }

  const rows = [...document.querySelectorAll("tr.late")];
  function choose(number, see) {
    chosen = number;
    rows.forEach(row => {
      const mine = Number(row.dataset.late) === number;
      row.classList.toggle("chosen", mine); row.setAttribute("aria-expanded", mine);
      row.nextElementSibling.hidden = !mine;
      if (mine && see) row.scrollIntoView({ block: "nearest" });
    });
    if (number >= 0) {
      const t = data.late[number].t;
      if (t < from || t > to) show(t - (to - from) / 2, t + (to - from) / 2);
    }
    paint();
  }
  rows.forEach(row => {
    row.nextElementSibling.hidden = true;
    const number = Number(row.dataset.late), open = () => choose(chosen === number ? -1 : number, false);
    row.addEventListener("click", open);
    row.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } });
  });
  canvas.addEventListener("wheel", event => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : .8, at(event.offsetX)); }, { passive: false });
  canvas.addEventListener("pointerdown", event => { drag = { x: event.offsetX, from, to, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", event => {
    pointer = event.offsetX;
    if (drag) {
      const by = (event.offsetX - drag.x) / (canvas.clientWidth - LEFT - RIGHT) * (drag.to - drag.from);
      if (Math.abs(event.offsetX - drag.x) > 3) drag.moved = true;
      if (drag.moved) { show(drag.from - by, drag.to - by); return; }
    }
    paint();
  });
  canvas.addEventListener("pointerup", event => {
    if (drag && !drag.moved) {
      let best = -1, near = 12;
      data.late.forEach((late, number) => { const away = Math.abs(x(late.t) - event.offsetX); if (away < near) { near = away; best = number; } });
      if (best >= 0) choose(best, true);
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { pointer = null; paint(); });
  canvas.addEventListener("dblclick", () => show(0, line.seconds));
  box.addEventListener("keydown", event => {
    const step = (to - from) / 5, middle = (from + to) / 2;
    const keys = {
      ArrowLeft: () => show(from - step, to - step), ArrowRight: () => show(from + step, to + step),
      "+": () => zoom(.7, middle), "=": () => zoom(.7, middle), "-": () => zoom(1.4, middle), 0: () => show(0, line.seconds),
      n: () => data.late.length && choose((chosen + 1) % data.late.length, false),
      p: () => data.late.length && choose((chosen <= 0 ? data.late.length : chosen) - 1, false),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  document.getElementById("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(data.report, null, 1)], { type: "application/json" }));
    link.download = "mgtop-report.json"; link.click();
  });
  window.addEventListener("resize", paint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  matchMedia("print").addEventListener("change", draw);
  draw();
})();
