"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const config = { responsive: true, displaylogo: false, displayModeBar: false };

const category = (axis) => (axis && axis.type === "category" ? { showgrid: false } : {});

function themed(layout) {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { gridcolor: of("--line"), zerolinecolor: of("--line"), automargin: true };
  return Object.assign({ autosize: true, hovermode: "closest" }, layout, {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: of("--text"), family: "system-ui, sans-serif", size: 12 },
    margin: { l: 50, r: 10, t: 20, b: 40 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: Object.assign({}, axis, category(layout.xaxis), layout.xaxis),
    yaxis: Object.assign({}, axis, layout.yaxis),
  });
}

const drawn = new Map(); // element -> figure, to draw it again in other colours
function draw(id, figure) {
  const place = document.getElementById(id);
  if (!place) return;
  drawn.set(id, figure);
  Plotly.react(place, figure.data, themed(figure.layout), config);
}

function drawFigures() {
  for (const section of Object.values(data))
    for (const [id, figure] of Object.entries(section.figures || {})) draw(id, figure);
}

function curves() {
  const found = data.curves || data.loop_curves;
  if (!found || !found.clips) return;
  const clip = document.getElementById("curves-clip") || { value: 0, addEventListener() {} };
  const joint = document.getElementById("curves-joint");
  function fillJoints() {
    const before = joint.value;
    joint.replaceChildren();
    found.clips[clip.value].joints.forEach((j, k) => {
      const option = document.createElement("option");
      option.value = k;
      option.textContent = j.name; // a name from a log is text, never markup
      joint.append(option);
    });
    joint.value = before && before < joint.options.length ? before : worst();
  }
  function worst() {
    const errors = found.clips[clip.value].joints.map((j) => Object.values(j.errors)[0] || 0);
    return String(errors.indexOf(Math.max(...errors)));
  }
  function line(name, time, values) {
    const dash = { command: "dot", reference: "dash" }[name] || "solid";
    const shown = { color: found.colours[name], width: name === "command" ? 1.2 : 1.8, dash };
    return { type: "scatter", mode: "lines", name, x: time, y: values, line: shown };
  }
  function show() {
    const time = found.clips[clip.value].time;
    const chosen = found.clips[clip.value].joints[joint.value];
    const tracks = Object.entries(chosen.tracks);
    const all = [...(chosen.command ? [["command", chosen.command]] : []), ...tracks];
    draw("curves-plot", {
      data: all.map(([n, v]) => line(n, time, v)),
      layout: { height: 380, yaxis: { title: { text: "position, rad" } } },
    });
    const real = chosen.tracks[found.against];
    const less = (v) => v.map((x, k) => (x === null || real[k] === null ? null : x - real[k]));
    draw("curves-error", {
      data: tracks.filter(([n]) => n !== found.against).map(([n, v]) => line(n, time, less(v))),
      layout: { height: 220, showlegend: false, xaxis: { title: { text: "seconds" } },
        yaxis: { title: { text: found.error } } },
    });
  }
  clip.addEventListener("change", () => { fillJoints(); show(); });
  joint.addEventListener("change", show);
  fillJoints();
  show();
}

function scene() {
  const place = document.getElementById("replay-scene");
  const found = data.replay || data.loop_replay;
  if (!place || !found || !found.html) return;
  function open() {
    const frame = document.createElement("iframe");
    frame.title = "replay of the robots";
    frame.srcdoc = found.html;
    place.replaceChildren(frame);
  }
  document.getElementById("replay-show").addEventListener("click", open);
  // Drawing it costs a phone's battery: only when the reader has come to it.
  const watcher = new IntersectionObserver((seen) => {
    if (seen.some((s) => s.isIntersecting)) { watcher.disconnect(); open(); }
  }, { threshold: 0.6 });
  watcher.observe(place);
}

drawFigures();
curves();
scene();
const again = () => drawn.forEach((figure, id) => draw(id, figure));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
addEventListener("beforeprint", again);
