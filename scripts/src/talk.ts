import { enter } from './talk/account.ts';
import { ApiError, publicApi } from './talk/api.ts';
import { chooseAgent } from './talk/choose-agent.ts';
import { type Conversation, converse, type Evaluation, type Screen } from './talk/conversation.ts';
import { readOptions, type TalkOptions, usage } from './talk/options.ts';
import { openTerminal, type Terminal } from './talk/terminal.ts';

const evaluationTimeoutMs = 30_000;
const interruptedExitCode = 130;

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(usage);
  else await talk(options, openTerminal());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function talk(options: TalkOptions, terminal: Terminal): Promise<void> {
  const api = publicApi(options.url);
  const account = await enter(api, options);
  if (account.password) terminal.note(`Registered ${account.email} (password ${account.password}).`);
  const agent = await chooseAgent(api, options.agent);
  const conversation = await converse(api, agent.id, terminal);
  terminal.note(`You talk to ${agent.name}. Ctrl-C interrupts a reply, /end ends the session.\n`);

  try {
    const interrupts = onInterrupt(conversation, terminal);
    await interrupts.during(conversation.greeted);
    for await (const line of terminal.lines()) {
      interrupts.forget();
      const text = line.trim();
      if (text === '/end') break;
      if (text !== '') await interrupts.during(conversation.send(text).catch(tell));
    }
    showEvaluation(terminal, await conversation.end(evaluationTimeoutMs));
  } finally {
    conversation.leave();
  }

  /** A refused message is told, and the conversation goes on. */
  function tell(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    terminal.note(`[${error.message}]`);
  }
}

/** Ctrl-C cuts a running reply; beside one, the second in a row leaves. */
function onInterrupt(conversation: Conversation, terminal: Terminal) {
  let replying = false;
  let asked = false;

  terminal.onInterrupt(() => {
    if (replying) {
      conversation.interrupt().catch((error: unknown) => {
        terminal.note(`[${error instanceof Error ? error.message : String(error)}]`);
      });
    } else if (asked) {
      conversation.leave();
      process.exit(interruptedExitCode);
    } else {
      asked = true;
      terminal.note('Type /end to end the session; Ctrl-C again leaves it open.');
    }
  });

  return {
    async during(reply: Promise<void>): Promise<void> {
      replying = true;
      await reply.finally(() => {
        replying = false;
      });
    },
    /** The person went on: leaving takes two again. */
    forget() {
      asked = false;
    },
  };
}

function showEvaluation(screen: Screen, found: Evaluation | undefined): void {
  if (!found) return screen.note('\nThe session has ended; its evaluation is not there yet.');
  const points = (mark: string, list: string[]) => list.map((point) => `\n  ${mark} ${point}`).join('');
  const recommendation = found.recommendation ? ` · ${found.recommendation}` : '';
  screen.note(
    `\nEvaluation: ${found.score} of 100${recommendation}\n${found.summary}` +
      `${points('+', found.strengths)}${points('-', found.weaknesses)}`,
  );
}
