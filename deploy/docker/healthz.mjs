// Exits with 0 if the container's unit responds on its operations port.
const [, port] = Object.entries(process.env).find(([name]) => name.endsWith('_OPS_PORT')) ?? [];
const { ok } = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => ({ ok: false }));
process.exit(ok ? 0 : 1);
