// Shows the results of a tool inside a conversation (MCP Apps), talking to the host over postMessage. HTML comes only from the
// server's renderer; everything else is inserted as text. All requests go through the host.
"use strict";
(() => {
  const VERSION = "2026-01-26";
  const FRAGMENT = "pentad/view";
  const RENDERED = "ui://pentad/rendered/";
  const COLOURS = {
    "--color-background-primary": "--ground", "--color-background-secondary": "--raised", "--color-text-primary": "--ink",
    "--color-text-secondary": "--soft", "--color-border-primary": "--line",
  };
  const root = document.documentElement;
  const main = document.getElementById("main");
  const status = document.getElementById("status");
  const waiting = new Map();
  let last = 0;
  let capabilities = {};
  let context = {};
  let given = null;
  let placed = null;
  let timer = null;
  let isOver = false;
  let isSeen = true;

  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });
  const ask = (method, params, seconds = 120) => new Promise((resolve, reject) => {
    const id = last += 1;
    const late = setTimeout(() => { waiting.delete(id); reject(new Error("The host did not answer.")); }, seconds * 1000);
    waiting.set(id, { resolve, reject, late });
    post({ id, method, params });
  });
  const say = (text, isBad = false) => {
    status.textContent = text;
    status.classList.toggle("bad", isBad);
  };

  // Results

  const texts = (result) => (Array.isArray(result?.content) ? result.content : [])
    .filter((one) => one?.type === "text" && typeof one.text === "string").map((one) => one.text);
  const place = (html) => {
    if (html === placed) {
      schedule();
      return;
    }
    placed = html;
    const opened = new Set([...main.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
    main.innerHTML = html;
    for (const one of main.querySelectorAll("summary")) if (opened.has(one.textContent)) one.parentElement.open = true;
    drawCharts.drawAll();
    schedule();
  };
  const write = (text) => {
    placed = null;
    main.replaceChildren();
    const pre = document.createElement("pre");
    pre.textContent = text;
    main.append(pre);
  };
  const rendered = async (tool, args) => {
    if (!capabilities.serverResources || !tool || !args) return null;
    const uri = `${RENDERED}${encodeURIComponent(tool)}/${encodeURIComponent(JSON.stringify(args))}`;
    try {
      const found = await ask("resources/read", { uri });
      return found?.contents?.[0]?.text ?? null;
    } catch { return null; }
  };
  const again = (result) => {
    const keys = root.dataset.keys?.split(" ");
    if (!keys) return given;
    const found = result?.structuredContent ?? {};
    return keys.every((key) => key in found) ? Object.fromEntries(keys.map((key) => [key, found[key]])) : null;
  };
  const show = async (result, tool, args) => {
    if (result?.isError) {
      say(texts(result).join("\n") || "The call failed.", true);
      return;
    }
    const html = result?._meta?.[FRAGMENT] ?? await rendered(tool, args);
    say("");
    if (html) place(html);
    else if (texts(result).length) write(texts(result).join("\n\n"));
    else say("This result is no longer available. Ask again.");
  };

  // Actions

  const call = async (tool, args) => {
    const [name, inner] = tool === "call_tool" ? [args.name, args.arguments] : [tool, args];
    const result = await ask("tools/call", { name: tool, arguments: args });
    return { result, name, args: inner };
  };
  const act = async (source, args) => {
    if (!capabilities.serverTools) {
      say("This host does not let views call tools. Ask in the conversation instead.", true);
      return;
    }
    const buttons = [...main.querySelectorAll("button")];
    const refresh = main.querySelector("article[data-tool]")?.dataset;
    for (const one of buttons) one.disabled = true;
    say("Working …");
    try {
      const done = await call(source.dataset.tool, args);
      // After a form, refresh the view; a link shows something else.
      if (source.matches("form") && refresh && !done.result?.isError && !done.result?._meta?.[FRAGMENT]) await update(refresh);
      else await show(done.result, done.name, done.args);
      if (source.matches("form") && !done.result?.isError) {
        ask("ui/update-model-context", { content: [{ type: "text", text: `In the view, the user called ${done.name}: ${JSON.stringify(done.args)}` }] }).catch(() => {});
      }
    } catch (error) {
      say(error.message || "The host refused the call.", true);
    }
    for (const one of buttons) one.disabled = false;
    // Replacing or disabling the pressed button drops the focus. Keep it in the view for the keyboard.
    if (document.activeElement === document.body) main.focus({ preventScroll: true });
  };
  const update = async (data) => {
    const done = await call(data.tool, JSON.parse(data.arguments));
    const html = done.result?._meta?.[FRAGMENT] ?? await rendered(done.name, done.args);
    if (html && !isOver) { say(""); place(html); }
  };
  const schedule = () => {
    clearTimeout(timer);
    const data = main.querySelector("article[data-refresh]")?.dataset;
    if (!data || isOver || !capabilities.serverTools) return;
    timer = setTimeout(async () => {
      const isBusy = document.activeElement?.closest("form")
        || [...main.querySelectorAll("input, textarea")].some((one) => one.value !== one.defaultValue);
      if (isSeen && !document.hidden && !isBusy) {
        try { await update(data); } catch { say("This may be out of date: the host did not answer."); }
      }
      schedule();
    }, 1000 * Number(data.refresh));
  };
  const into = (args, name, value) => {
    const steps = name.startsWith("/") ? name.slice(1).split("/") : [name];
    const key = steps.pop();
    let inner = args;
    for (const step of steps) inner = inner[step] ??= {};
    if (value !== "") inner[key] = value;
  };
  const typed = (form, button) => {
    const args = JSON.parse(form.dataset.arguments);
    const target = form.dataset.tool === "call_tool" ? (args.arguments ??= {}) : args;
    for (const one of form.elements) {
      if (!one.name || one.matches("button") || (one.matches("[type=checkbox], [type=radio]") && !one.checked)) continue;
      into(target, one.name, one.value);
    }
    if (button.name) into(target, button.name, button.value);
    return args;
  };
  // Sandboxed frames cannot submit forms, so handle clicks on buttons. Enter in a field clicks the first one.
  main.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const button = event.target.closest("button");
    if (link) {
      event.preventDefault();
      if (capabilities.openLinks) ask("ui/open-link", { url: link.href }).catch(() => {});
      else say(`The address is ${link.href}`);
    } else if (button) {
      event.preventDefault();
      const form = button.closest("form[data-tool]");
      if (button.dataset.tool) act(button, JSON.parse(button.dataset.arguments));
      else if (form) act(form, typed(form, button));
    }
  });
  main.addEventListener("submit", (event) => event.preventDefault());

  // The host

  const resolves = (name) => {
    status.style.color = `var(${name}, rgb(1, 2, 3))`;
    const found = getComputedStyle(status).color;
    status.style.color = "";
    return found !== "rgb(1, 2, 3)";
  };
  const theme = () => {
    if (context.theme === "light" || context.theme === "dark") root.dataset.theme = context.theme;
    const variables = context.styles?.variables ?? {};
    for (const [name, own] of Object.entries(COLOURS)) {
      root.style.removeProperty(own);
      root.style.removeProperty(name);
      if (typeof variables[name] === "string") root.style.setProperty(name, variables[name]);
    }
    if (Object.keys(COLOURS).every(resolves)) { // mixing some of the host's colours with ours could be unreadable
      for (const [name, own] of Object.entries(COLOURS)) root.style.setProperty(own, `var(${name})`);
    }
    if (typeof variables["--font-sans"] === "string") root.style.setProperty("--host-font", variables["--font-sans"]);
    root.classList.toggle("touch", Boolean(context.deviceCapabilities?.touch));
    drawCharts.redraw();
  };
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
  };
  const NOTICES = {
    "ui/notifications/tool-input": (params) => { given = params?.arguments ?? {}; },
    "ui/notifications/tool-input-partial": () => say("Waiting for the question."),
    "ui/notifications/tool-result": (params) => show(params, root.dataset.tool, again(params)),
    "ui/notifications/tool-cancelled": (params) => say(params?.reason ? `Cancelled: ${params.reason}` : "The call was cancelled."),
    "ui/notifications/host-context-changed": (params) => { context = { ...context, ...params }; theme(); },
  };
  const REQUESTS = { ping: () => {}, "ui/resource-teardown": stop };
  addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== parent || message?.jsonrpc !== "2.0") return;
    if (message.method === undefined) {
      const held = waiting.get(message.id);
      if (!held) return;
      waiting.delete(message.id);
      clearTimeout(held.late);
      if (message.error) held.reject(new Error(String(message.error.message ?? "The host refused.")));
      else held.resolve(message.result);
    } else if (message.id === undefined) NOTICES[message.method]?.(message.params);
    else if (REQUESTS[message.method]) {
      REQUESTS[message.method](message.params);
      post({ id: message.id, result: {} });
    } else post({ id: message.id, error: { code: -32601, message: `No method ${message.method}.` } });
  });

  let height = 0;
  const measure = () => requestAnimationFrame(() => {
    const now = Math.ceil(document.body.getBoundingClientRect().height);
    if (Math.abs(now - height) < 2) return;
    height = now;
    notify("ui/notifications/size-changed", { width: Math.ceil(root.clientWidth), height });
  });
  const start = async () => {
    const params = { protocolVersion: VERSION, appInfo: { name: "pentad", version: "1" }, appCapabilities: { availableDisplayModes: ["inline"] } };
    try {
      const found = await ask("ui/initialize", params, 10);
      capabilities = found?.hostCapabilities ?? {};
      context = { ...context, ...found?.hostContext };
      theme();
    } catch {
      say("This view needs a client that shows MCP Apps.", true);
      return;
    }
    notify("ui/notifications/initialized");
    new ResizeObserver(measure).observe(document.body);
    new IntersectionObserver((seen) => { isSeen = seen[seen.length - 1].isIntersecting; }).observe(document.body);
    measure();
  };
  start();
})();
