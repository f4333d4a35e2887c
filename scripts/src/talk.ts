import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { enter } from './talk/account.ts';
import { publicApi } from './talk/api.ts';
import { chooseAgent } from './talk/choose-agent.ts';
import { converse, type Evaluation, type Screen } from './talk/conversation.ts';

const usage = `Talks to an agent from the terminal, by the public API alone.

  scripts/talk [--url URL] [--email EMAIL --password PASSWORD] [--agent ID]

  --url       the GraphQL endpoint                      (PARLEY_URL, default http://localhost:4000/graphql)
  --email     an account to sign in with; without one   (PARLEY_EMAIL, PARLEY_PASSWORD)
  --password  a throw-away account is registered
  --agent     the agent's id; without one the newest, else an example is made

While a reply runs Ctrl-C interrupts it. /end ends the session and shows its evaluation. Input may come from a pipe.
`;

const evaluationTimeoutMs = 30_000;

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: process.env.PARLEY_URL || 'http://localhost:4000/graphql' },
      email: { type: 'string', default: process.env.PARLEY_EMAIL || '' },
      password: { type: 'string', default: process.env.PARLEY_PASSWORD || '' },
      agent: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return void process.stdout.write(usage);

  const interactive = process.stdin.isTTY === true;
  const screen: Screen = {
    say: (text) => void process.stdout.write(text),
    note: (text) => void process.stdout.write(`${text}\n`),
  };
  const api = publicApi(values.url);
  const account = await enter(api, values);
  if (account.password) screen.note(`Registered ${account.email} (password ${account.password}).`);
  const agent = await chooseAgent(api, values.agent || undefined);
  const conversation = await converse(api, agent.id, screen);
  screen.note(`You talk to ${agent.name}. Ctrl-C interrupts a reply, /end ends the session.\n`);

  let replying = false;
  let asked = false;
  const onInterrupt = (): void => {
    if (replying) return void conversation.interrupt().catch((error: Error) => screen.note(`[${error.message}]`));
    if (asked) {
      conversation.leave();
      process.exit(130);
    }
    asked = true;
    screen.note('\nType /end to end the session; Ctrl-C again leaves it open.');
  };
  process.on('SIGINT', onInterrupt);
  await conversation.greeted;

  // Only now: lines that come before somebody reads them are lost.
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: interactive,
    prompt: 'you> ',
  });
  lines.on('SIGINT', onInterrupt);
  if (interactive) lines.prompt();
  for await (const line of lines) {
    asked = false;
    const text = line.trim();
    if (text === '/end') break;
    if (text !== '') {
      if (!interactive) screen.note(`you> ${text}`);
      replying = true;
      // A refused message is told, and the conversation goes on.
      await conversation.send(text).catch((error: Error) => screen.note(`[${error.message}]`));
      replying = false;
    }
    if (interactive) lines.prompt();
  }
  lines.close();
  showEvaluation(screen, await conversation.end(evaluationTimeoutMs));
}

function showEvaluation(screen: Screen, found: Evaluation | undefined): void {
  if (!found) return screen.note('\nThe session has ended; its evaluation is not there yet.');
  const points = (title: string, list: string[]) => list.map((point) => `\n  ${title} ${point}`).join('');
  const recommendation = found.recommendation ? ` · ${found.recommendation}` : '';
  screen.note(
    `\nEvaluation: ${found.score} of 100${recommendation}\n${found.summary}` +
      `${points('+', found.strengths)}${points('-', found.weaknesses)}`,
  );
}
