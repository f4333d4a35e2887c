/** The widget's styles. Pages may set variables whose names begin with `--parley-`; the names of internal variables begin with `--_`. */
export const styles = `
:host {
  color-scheme: light dark;
  --_accent: var(--parley-accent, light-dark(#2f4fd8, #8ea4ff));
  --_accent-text: var(--parley-accent-text, oklch(from var(--_accent) clamp(0, (.66 - l) * 1000, 1) 0 0));
  --_bg: var(--parley-background, light-dark(#fff, #15181e));
  --_surface: var(--parley-surface, light-dark(#f1f3f7, #222731));
  --_text: var(--parley-text, light-dark(#1a1f2b, #e8ebf0));
  --_muted: var(--parley-muted, light-dark(#5a6372, #a4aebc));
  --_border: var(--parley-border, light-dark(#dde1e8, #343b48));
  --_error: var(--parley-error, light-dark(#b3261e, #ffb4ab));
  --_ok: var(--parley-success, light-dark(#1a7f47, #5fd49a));
  --_radius: var(--parley-radius, 16px);
  display: block;
  container-type: inline-size;
  block-size: 38rem;
  max-block-size: 100dvh;
  min-inline-size: 16rem;
  font: 400 15px/1.5 var(--parley-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif);
  color: var(--_text);
  text-align: start;
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
p, ul, ol, pre, blockquote { margin: 0; }
.chat {
  block-size: 100%; display: flex; flex-direction: column; position: relative; overflow: hidden;
  background: var(--_bg); border: 1px solid var(--_border); border-radius: var(--_radius);
}
.header { display: flex; align-items: center; gap: 12px; padding: 12px 16px; border-block-end: 1px solid var(--_border); flex-wrap: wrap; }
.avatar {
  inline-size: 40px; block-size: 40px; border-radius: 50%; display: grid; place-items: center; flex: none;
  background: var(--_accent); color: var(--_accent-text); font-weight: 600; font-size: 17px;
}
.who { flex: 1; min-inline-size: 0; }
.name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; line-height: 1.3; }
.status { color: var(--_muted); font-size: 13px; line-height: 1.3; display: flex; align-items: center; gap: 6px; }
.status::before { content: ""; inline-size: 8px; block-size: 8px; border-radius: 50%; background: var(--_muted); flex: none; }
.status.open::before { background: var(--_ok); }
.status.failed::before, .status.reconnecting::before { background: var(--_error); }
.confirm { display: flex; align-items: center; gap: 8px; flex-wrap: wrap; inline-size: 100%; font-size: 14px; }
.confirm span { flex: 1; min-inline-size: 10rem; }
.log {
  flex: 1; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 16px;
  overscroll-behavior: contain; scrollbar-width: thin;
}
.log > :first-child { margin-block-start: auto; }
.turn { display: flex; flex-direction: column; gap: 8px; }
.message { max-inline-size: 85%; overflow-wrap: anywhere; unicode-bidi: isolate; }
.own {
  align-self: flex-end; padding: 9px 14px; background: var(--_accent); color: var(--_accent-text);
  border: 1px solid transparent; border-radius: var(--_radius); border-end-end-radius: 4px;
}
.own.pending { opacity: .75; }
.own.unknown { background: none; color: var(--_muted); border-color: var(--_border); font-style: italic; }
.own .failure { color: inherit; font-size: 13px; }
.reply { align-self: flex-start; display: flex; flex-direction: column; align-items: flex-start; gap: 8px; min-inline-size: 0; }
.text, .typing {
  padding: 9px 14px; background: var(--_surface); border: 1px solid transparent;
  border-radius: var(--_radius); border-end-start-radius: 4px; max-inline-size: 100%;
}
.lines { white-space: pre-line; }
.block + .block { margin-block-start: 10px; }
.heading { font-weight: 600; }
.heading + p, p + .heading, p + ul, p + ol { margin-block-start: 6px; }
ul, ol { padding-inline-start: 22px; }
blockquote { border-inline-start: 3px solid var(--_border); padding-inline-start: 10px; color: var(--_muted); }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
:not(pre) > code { background: color-mix(in srgb, var(--_text) 9%, transparent); padding: 1px 5px; border-radius: 5px; }
pre { background: var(--_bg); border: 1px solid var(--_border); border-radius: 8px; padding: 10px 12px; overflow-x: auto; line-height: 1.4; }
a { color: light-dark(color-mix(in srgb, var(--_accent) 90%, #000), var(--_accent)); text-underline-offset: 2px; }
.host, .muted { color: var(--_muted); }
.host { font-size: .85em; font-weight: 400; }
.muted { font-size: 14px; }
.note { font-size: 13px; padding-inline-start: 14px; }
.typing { display: flex; gap: 5px; align-items: center; block-size: 42px; }
.typing i { inline-size: 7px; block-size: 7px; border-radius: 50%; background: var(--_muted); animation: typing 1.2s infinite ease-in-out; }
.typing i:nth-child(2) { animation-delay: .15s; }
.typing i:nth-child(3) { animation-delay: .3s; }
@keyframes typing { 0%, 60%, 100% { opacity: .35; transform: none; } 30% { opacity: 1; transform: translateY(-3px); } }
.tools { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 6px; }
.tool {
  font-size: 13px; color: var(--_muted); border: 1px solid var(--_border); border-radius: 999px; padding: 3px 11px;
  display: flex; align-items: center; gap: 7px; max-inline-size: 100%;
}
.tool::before { content: ""; inline-size: 7px; block-size: 7px; border-radius: 50%; background: var(--_muted); flex: none; }
.tool.succeeded::before { background: var(--_ok); }
.tool.failed::before { background: var(--_error); }
.tool.started::before { animation: typing 1.2s infinite ease-in-out; background: var(--_accent); }
.failure { color: var(--_error); font-size: 14px; display: flex; align-items: center; gap: 10px; flex-wrap: wrap; overflow-wrap: anywhere; }
.card, .list, .table { border: 1px solid var(--_border); border-radius: 12px; background: var(--_bg); max-inline-size: 100%; }
.card { overflow: hidden; inline-size: 22rem; }
.card img { display: block; inline-size: 100%; max-block-size: 12rem; object-fit: cover; background: var(--_surface); }
.card-body { padding: 12px 14px; display: flex; flex-direction: column; gap: 4px; }
.card-title { font-weight: 600; }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; margin-block-start: 8px; }
.table { overflow-x: auto; }
.table .more { padding: 8px 14px; }
table { border-collapse: collapse; font-size: 14px; inline-size: max-content; min-inline-size: 100%; }
td { max-inline-size: 14rem; }
th, td { padding: 8px 14px; text-align: start; border-block-end: 1px solid var(--_border); white-space: pre-line; overflow-wrap: normal; }
th { font-weight: 600; background: var(--_surface); white-space: nowrap; }
tr:last-child td { border-block-end: 0; }
.list { list-style: none; padding: 0; min-inline-size: min(18rem, 100%); }
.list li { padding: 10px 14px; }
.list li + li { border-block-start: 1px solid var(--_border); }
.sources { font-size: 14px; max-inline-size: 100%; }
.sources summary { cursor: pointer; color: var(--_muted); padding: 2px 14px; border-radius: 6px; font-size: 13px; }
.sources ol { display: flex; flex-direction: column; gap: 8px; padding-block: 8px 0; padding-inline: 34px 14px; }
.jump { position: absolute; inset-block-end: 84px; inset-inline: 0; margin-inline: auto; inline-size: max-content; box-shadow: 0 2px 10px rgb(0 0 0 / .18); }
.foot { padding: 10px 12px 12px; border-block-start: 1px solid var(--_border); }
.over { color: var(--_muted); text-align: center; padding: 6px; font-size: 14px; }
form { display: flex; align-items: flex-end; gap: 8px; }
textarea {
  flex: 1; min-inline-size: 0; resize: none; font: inherit; font-size: 16px; color: inherit; background: var(--_surface); field-sizing: content;
  border: 1px solid light-dark(#8a93a2, #6c7686); border-radius: 12px; padding: 9px 13px; max-block-size: 9.5rem; min-block-size: 44px; line-height: 1.45;
}
textarea::placeholder { color: var(--_muted); opacity: 1; }
button, .choice { font: inherit; cursor: pointer; border-radius: 10px; border: 1px solid var(--_border); background: var(--_bg); color: inherit; padding: 7px 13px; min-block-size: 36px; }
.choice { display: inline-flex; align-items: center; gap: 4px; text-decoration: none; font-size: 14px; font-weight: 500; overflow-wrap: anywhere; text-align: start; }
.round { inline-size: 44px; block-size: 44px; padding: 0; display: grid; place-items: center; flex: none; border-radius: 12px; }
.primary { background: var(--_accent); border-color: transparent; color: var(--_accent-text); }
.danger { color: var(--_error); border-color: currentColor; }
.link { border: 0; background: none; padding: 0; min-block-size: 24px; text-decoration: underline; color: inherit; }
@media (hover: hover) { button:hover, .choice:hover { border-color: var(--_muted); } .primary:hover, .link:hover { border-color: transparent; } }
button:disabled, button[aria-disabled="true"], textarea:disabled { opacity: .55; cursor: default; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
textarea:focus-visible { outline-offset: -2px; }
.own :focus-visible { outline-color: currentColor; }
.log:focus-visible { outline-offset: -3px; }
.icon { inline-size: 20px; block-size: 20px; fill: currentColor; }
:dir(rtl) > .flip { transform: scaleX(-1); }
.read { display: inline-flex; align-items: center; gap: 6px; border: 0; background: none; color: var(--_muted); font-size: 13px; padding: 2px 10px; min-block-size: 28px; }
.read .icon { inline-size: 16px; block-size: 16px; }
.read[aria-busy="true"] { opacity: .6; }
.recording { display: flex; align-items: center; gap: 8px; font-size: 14px; padding: 0 4px 8px; }
.recording i { inline-size: 10px; block-size: 10px; border-radius: 50%; background: var(--_muted); flex: none; }
.recording.live i { background: var(--_error); animation: typing 1.2s infinite ease-in-out; }
.recording .link { margin-inline-start: auto; }
.alert { color: var(--_error); font-size: 13px; padding: 0 4px 6px; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
@container (max-width: 26rem) {
  .log { padding: 12px; }
  .message { max-inline-size: 92%; }
  .header { padding: 10px 12px; gap: 10px; }
}
@media (prefers-reduced-motion: reduce) { *, *::before { animation: none !important; } }
@media (forced-colors: active) { .text, .own, .typing { border-color: CanvasText; } }
`;
