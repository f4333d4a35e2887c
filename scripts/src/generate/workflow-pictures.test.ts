import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { workflowPictures } from './workflow-pictures.ts';

function checkout(t: ExecutionContext, page: string): string {
  const root = mkdtempSync(join(tmpdir(), 'parley-pictures-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'services/agent/examples');
  mkdirSync(folder, { recursive: true });
  const bot = { version: 1, start: 'a', nodes: { a: { kind: 'response', text: 'Hello.' } } };
  writeFileSync(join(folder, 'bot.json'), JSON.stringify(bot));
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ trace: [{ nodeId: 'a' }] }));
  writeFileSync(join(folder, 'README.md'), page);
  return root;
}

const picture = '\n```mermaid\nflowchart TD\n  start(( )) --> n0\n  n0(["a<br/><small>response</small>"])\n```\n\n';
const page = (between: string) => `# A\n\n<!-- workflow: bot.json -->\n${between}<!-- end of workflow -->\n\nMore.\n`;

test('a picture is drawn between its markers, and a page with the current picture does not change', (t) => {
  for (const between of ['', 'An old one.\n', picture]) {
    t.deepEqual(workflowPictures(checkout(t, page(between))), [
      { path: 'services/agent/examples/README.md', text: page(picture) },
    ]);
  }
});

test('a run is drawn over the picture', (t) => {
  const root = checkout(t, '<!-- workflow: bot.json, run: run.json -->\n<!-- end of workflow -->\n');
  t.regex(workflowPictures(root)[0]?.text ?? '', /\n {2}class n0 taken\n```\n\n<!-- end/u);
});

test('a picture of a missing file is an error', (t) => {
  const root = checkout(t, '<!-- workflow: other.json -->\n<!-- end of workflow -->\n');
  t.throws(() => workflowPictures(root), { message: /examples\/README\.md has a picture of other\.json/u });
});
