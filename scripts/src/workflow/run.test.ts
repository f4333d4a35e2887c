import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { restApi } from '@parley/stories/actions';
import type { Client } from '@parley/stories/client';
import { stories } from '@parley/stories/stories';
import { modelTag } from '@parley/stories/workflows';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { startChild } from '../testing/child.ts';

// allow-name workflow: the command, which is unrelated to the operation of that name.

const story = stories(test);
const examples = join(root, 'services/agent/examples');

function newFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-workflow-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes the support bot to a file, with the tag that routes its requests to this file's scripted model. */
function supportBot(t: ExecutionContext, owner: Client): string {
  const bot = JSON.parse(readFileSync(join(examples, 'support-bot.json'), 'utf8'));
  bot.nodes.classify.instruction += `\n${modelTag(owner)}`;
  for (const node of [bot.nodes.answer, bot.nodes.ask_number])
    node.system = `You work for a web shop.\n${modelTag(owner)}`;
  const file = join(newFolder(t), 'bot.json');
  writeFileSync(file, JSON.stringify(bot));
  return file;
}

const signIn = ({ url, account }: Client) => [
  '--url',
  url,
  '--email',
  account?.email ?? '',
  '--password',
  account?.password ?? '',
];

story(
  'the support bot is run by one command: from passages, by an action, with a card, and its way',
  async (t, mesh) => {
    const ada = await mesh.person();
    mesh.model.judge('a web shop', ({ messages }) => {
      const last = JSON.stringify(messages.at(-1)).split('last message of the person').at(-1) ?? '';
      return { json: { label: /order/iu.test(last) ? 'order' : 'question' } };
    });
    mesh.model.answerOthers('Write the order number', (text) => ({ text: /\d{4,}/u.exec(text)?.[0] ?? 'NONE' }));
    mesh.model.answerOthers('Answer the customer', () => ({ text: 'Within 30 days.' }));
    const shop = await restApi(t, ({ path }, response) =>
      response.setHeader('content-type', 'application/json').end(readFileSync(join(examples, path))),
    );
    const trace = join(newFolder(t), 'run.json');
    const child = startChild(t, 'workflow', {
      args: [
        'run',
        supportBot(t, ada),
        '--knowledge',
        join(examples, 'returns.md'),
        '--action',
        `${shop.url}/orders/{order}.json`,
        '--trace',
        trace,
        ...signIn(ada),
        'How long may I keep lamps before the return?',
        'Where is order 4711?',
      ],
    });
    t.is(await child.ended, 0, child.stderr);
    t.is(child.stderr, '');
    const card = {
      kind: 'card',
      title: 'Order 4711',
      subtitle: 'sent',
      body: '2 × Lamp\n1 × Bulb',
      buttons: [
        { label: 'Track the parcel', url: 'https://example.com/parcels/4711' },
        { label: 'Something else', value: 'I have another question' },
      ],
    };
    const [shown = '{}'] = /(?<=^— )\{.*\}$/mu.exec(child.stdout) ?? [];
    t.deepEqual(JSON.parse(shown), card);
    const steady = child.stdout.replace(shown, '{card}').replace(/(?<=as workflow )\d+|(?<=succeeded, ).*/gu, 'N');
    t.is(
      steady,
      `Read returns.md: 1 passage.
Published 12 nodes as workflow N.

you> How long may I keep lamps before the return?
Within 30 days.
— from returns.md
— test-model
— by classify → answer → say_answer

you> Where is order 4711?
— find_order … succeeded, N
Order 4711 is sent.
— test-model
— {card}
— by classify → ask_number → has_number → find_order → show_order

`,
    );
    t.is(shop.seen.length, 1);

    const drawn = startChild(t, 'workflow', { args: ['draw', join(examples, 'support-bot.json'), '--run', trace] });
    t.is(await drawn.ended, 0, drawn.stderr);
    // The page with the examples contains the same picture.
    t.is(drawn.stdout, pictureOf(readFileSync(join(examples, 'README.md'), 'utf8'), 'support-bot-run.json'));
  },
);

story('messages are read from a pipe, and an invalid definition is not run', async (t, mesh) => {
  const ada = await mesh.person();
  const file = join(newFolder(t), 'echo.json');
  writeFileSync(
    file,
    JSON.stringify({ version: 1, start: 'a', nodes: { a: { kind: 'response', text: 'You say {{ message }}.' } } }),
  );
  const child = startChild(t, 'workflow', { args: ['run', file, ...signIn(ada)] });
  child.write('one\n\n  two\n');
  child.endInput();
  t.is(await child.ended, 0, child.stderr);
  t.regex(child.stdout, /you> one\nYou say one\.\n— by a\n\nyou> {3}two\nYou say two\.\n— by a\n/u);
  writeFileSync(file, JSON.stringify({ version: 1, start: 'b', nodes: {} }));
  const refused = startChild(t, 'workflow', { args: ['run', file, ...signIn(ada), 'hello'] });
  t.is(await refused.ended, 1);
  t.regex(refused.stderr, /^start names|^nodes must/u);
  t.is(refused.stdout, '');
});

/** Returns the picture that follows the marker of this file in a page. */
function pictureOf(page: string, name: string): string {
  return new RegExp(`<!-- workflow: [^>]*${name} -->\\s+\`\`\`mermaid\\n([^\`]*)\`\`\``, 'u').exec(page)?.[1] ?? '';
}
