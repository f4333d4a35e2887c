// allow-name embed: the command of scripts/
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { root } from './root.ts';
import { startChild } from './testing/child.ts';

test('a page compiles with the types of the built files', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-embed-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const child = startChild(t, 'embed', { args: [folder] });
  t.is(await child.ended, 0, child.stderr);
  t.deepEqual(readdirSync(folder).toSorted(), ['parley-chat.js', 'parley-client.d.ts', 'parley-client.js', 'types']);
  t.regex(child.stdout, /parley-chat\.js: \d+\.\d KB gzipped\n/u);

  const page = join(folder, 'page.ts');
  writeFileSync(
    page,
    `import { connect, type SessionEvent } from './parley-client.js';
    const session = connect({ endpoint: '/graphql', sessionId: 7, token: 'x', onEvent: (event: SessionEvent) => event.eventId });
    export async function read(): Promise<string> {
      for await (const event of session) if (event.__typename === 'AiResponseEvent') return event.text;
      return (await session.end()).evaluation?.summary ?? '';
    }
    // @ts-expect-error
    void session.send(7);\n`,
  );
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
    '--types',
    '',
  ];
  await t.notThrowsAsync(promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...options, page], { cwd: folder }));
});

test('without a folder it reports that the folder is missing', async (t) => {
  const child = startChild(t, 'embed');
  t.is(await child.ended, 1);
  t.regex(child.stderr, /^Give the folder to write to\./u);
});
