// Exits with 0 while the unit of this container answers on its operators' port.
const [, port] = Object.entries(process.env).find(([name]) => name.endsWith('_OPS_PORT')) ?? [];
const { ok } = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => ({ ok: false }));
process.exit(ok ? 0 : 1);
