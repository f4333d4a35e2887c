import { once } from 'node:events';
import { createServer } from 'node:http';
import { findPackageJSON } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import test from 'ava';
import type { ToolContent } from '../../src/mcp/tool-result.ts';
import { startForeign } from './foreign-server.ts';
import { mcpApp } from './mcp-app.ts';

/** Returns the path of a file in an installed package, even if the package does not export it. */
function fileOf(name: string, file: string): string {
  return join(dirname(findPackageJSON(name, import.meta.url) ?? ''), file);
}

const everything = {
  command: process.execPath,
  args: () => [fileOf('@modelcontextprotocol/server-everything', 'dist/index.js'), 'streamableHttp'],
  env: (port: number) => ({ PORT: String(port) }),
};

const charts = {
  command: process.execPath,
  args: (port: number) => [
    fileOf('@antv/mcp-server-chart', 'build/index.js'),
    '--transport=streamable',
    '--host=127.0.0.1',
    `--port=${port}`,
  ],
};

const text = (content: ToolContent[]) => content.map((each) => ('text' in each ? each.text : '')).join();

test('server-everything, with sessions and event streams: its tools are listed and called', async (t) => {
  const { list, call, client } = mcpApp(t, await startForeign(t, everything));
  const names = (await list()).map(({ name }) => name);
  for (const name of ['echo', 'get-sum', 'get-tiny-image', 'trigger-long-running-operation'])
    t.true(names.includes(name));

  t.deepEqual((await call({ name: 'echo', args: { message: 'Grüße' } })).content, [
    { type: 'text', text: 'Echo: Grüße' },
  ]);
  const sum = await call({ name: 'get-sum', args: { a: 2, b: 3 }, idempotencyKey: 'one' });
  t.regex(text(sum.content), /5/u);
  const { content: image } = await call({ name: 'get-tiny-image' });
  const found = image.find(({ type }) => type === 'image');
  t.like(found, { type: 'image', mimeType: 'image/png' });
  t.false(JSON.stringify(image).includes('"data"'));
  const weather = await call({ name: 'get-structured-content', args: { location: 'Chicago' } });
  t.like(weather.structured, {
    temperature: weather.structured && (weather.structured as { temperature: number }).temperature,
  });
  const links = await call({ name: 'get-resource-links', args: { count: 2 } });
  t.is(links.content.filter(({ type }) => type === 'link').length, 2);
  const resource = await call({ name: 'get-resource-reference', args: { resourceType: 'Text', resourceId: 1 } });
  t.true(resource.content.some(({ type }) => type === 'resource'));
  await client.stop();
});

test('server-everything: progress, cancellation, and refusals', async (t) => {
  const { call } = mcpApp(t, await startForeign(t, everything));
  const progress: number[] = [];
  const long = await call(
    { name: 'trigger-long-running-operation', args: { duration: 0.5, steps: 5 } },
    { onProgress: (each) => progress.push(each.progress) },
  );
  t.false(long.isError);
  t.deepEqual(progress, [1, 2, 3, 4, 5]);

  const leaving = new AbortController();
  const endless = call(
    { name: 'trigger-long-running-operation', args: { duration: 600, steps: 6_000 } },
    { signal: leaving.signal, onProgress: () => leaving.abort(new Error('gone')) },
  );
  await t.throwsAsync(endless, { message: 'gone' });
  t.true((await call({ name: 'get-sum', args: { a: 'two', b: 3 } })).isError);
  t.true((await call({ name: 'no-such-tool' })).isError);
  t.false((await call({ name: 'get-sum', args: { a: 2, b: 3 } })).isError, 'the session goes on');
});

test('server-everything: 30 concurrent calls in one session get their own responses', async (t) => {
  const { call } = mcpApp(t, await startForeign(t, everything));
  const results = await Promise.all(
    Array.from({ length: 30 }, (_, n) => call({ name: 'echo', args: { message: `${n}` } })),
  );
  t.deepEqual(
    results.map(({ content }) => text(content)),
    Array.from({ length: 30 }, (_, n) => `Echo: ${n}`),
  );
});

test('mcp-server-chart, without sessions and with JSON responses: its tools are listed and called', async (t) => {
  const asked: string[] = [];
  const renderer = createServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString());
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ success: true, resultObj: 'https://charts.example/1.png' }));
  });
  renderer.listen(0, '127.0.0.1');
  await once(renderer, 'listening');
  t.teardown(() => renderer.close());
  const VIS_REQUEST_SERVER = `http://127.0.0.1:${(renderer.address() as AddressInfo).port}/`;
  const { list, call } = mcpApp(t, await startForeign(t, { ...charts, env: () => ({ VIS_REQUEST_SERVER }) }));
  const tools = await list();
  t.true(tools.length > 20);
  t.truthy(tools.find(({ name }) => name === 'generate_pie_chart')?.inputSchema.properties);

  const data = [{ category: 'A', value: 1 }];
  const { content, isError } = await call({ name: 'generate_pie_chart', args: { data } });
  t.false(isError, text(content));
  t.regex(text(content), /https:\/\/charts\.example\/1\.png/u);
  t.is(asked.length, 1);
  t.like(await call({ name: 'no_such_tool' }), { isError: true, refusal: 'TOOL_NOT_FOUND' });
  t.is(asked.length, 1);
});
