import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '@parley/kernel/errors';
import { leftOut } from '@parley/testing/left-out';
import test from 'ava';
import { startForeign } from './foreign-server.ts';
import { mcpApp } from './mcp-app.ts';

const root = join(import.meta.dirname, '../../../..');
const scripts = join(import.meta.dirname, 'fastmcp');
/**
 * The folder in which FastMCP is installed, among the servers of this checkout. Increase the last number in the folder's name when
 * `install.sh` changes.
 */
const installed = join(root, '.tools/servers/fastmcp-4.2.3-1');

/** Installs FastMCP if it is missing. Returns the reason why this machine cannot install it; undefined if FastMCP is installed. */
async function missing(): Promise<string | undefined> {
  if (existsSync(installed)) return undefined;
  mkdirSync(dirname(installed), { recursive: true });
  const install = ['sh', join(root, 'deploy/servers/engines/install.sh'), installed];
  try {
    await promisify(execFile)('flock', ['-F', `${installed}.lock`, ...install], {
      env: { ...process.env, SCRIPTS: scripts },
    });
    return undefined;
  } catch (error) {
    // Exit code 69 means that the machine lacks a requirement.
    if (hasCode(error, '69', 'ENOENT')) return String((error as { stderr?: string }).stderr || error).trim();
    throw error;
  }
}

const reason = await missing();
if (reason !== undefined) leftOut(`FastMCP: ${reason}`);

const fastMcp = (mode: 'stateful' | 'stateless') => ({
  command: 'python3',
  args: () => [join(scripts, 'server.py'), mode],
  env: () => ({ PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: '1' }),
  printsPort: true,
});

for (const mode of reason === undefined ? (['stateful', 'stateless'] as const) : [])
  test(`FastMCP, ${mode}: tools are listed in pages, called, and refused`, async (t) => {
    const { client, connector, failure } = mcpApp(t, await startForeign(t, fastMcp(mode)));
    const given = { ...connector, apiKey: 'foreign-key' };
    const call = (name: string, args = {}) => client.callTool(given, { name, args, idempotencyKey: 'key' });

    const listed = await client.listTools(given);
    const names = listed.map(({ name }) => name);
    t.deepEqual(names.toSorted(), ['add', 'count', 'count_corners', 'fail', 'picture']);
    const schema = listed.find(({ name }) => name === 'count_corners')?.inputSchema;
    t.true(JSON.stringify(schema).includes('$ref'), 'references within the schema are kept');

    t.like(await call('add', { a: 2, b: 3 }), { isError: false, content: [{ type: 'text', text: '5' }] });
    const shape = { corners: [{ x: 0, y: 0 }], color: 'green' };
    t.like(await call('count_corners', { shape }), { structured: { corners: 1 } });
    t.like(await call('picture'), { content: [{ type: 'image', mimeType: 'image/png', bytes: 1_004 }] });
    t.like(await call('fail', { reason: 'no' }), { isError: true, content: [{ type: 'text', text: 'failed: no' }] });
    t.like(await call('add', { a: 'two', b: 3 }), { isError: true });
    t.like(await call('no_such_tool'), { isError: true });

    const progress: number[] = [];
    const options = { onProgress: (each: { progress: number }) => progress.push(each.progress) };
    const counted = await client.callTool(given, { name: 'count', args: { to: 3 } }, options);
    t.like(counted, { content: [{ type: 'text', text: 'counted to 3' }] });
    t.deepEqual(progress, mode === 'stateful' ? [0, 1, 2] : []);

    t.is(await failure(client.callTool(connector, { name: 'add', args: {} })), 'invalid CONNECTOR_UNAUTHORIZED');
    t.is(await failure(client.listTools(connector)), 'invalid CONNECTOR_UNAUTHORIZED');
  });
