import { type Api, ApiError } from './api.ts';
import { type Conversation, converse, type Evaluation } from './conversation.ts';
import { giveDocuments } from './documents.ts';
import { converseEmbedded, newApiKey } from './embedded.ts';
import { chooseAgent, enter, type TalkOptions } from './participants.ts';
import { openTerminal, type Streams } from './terminal.ts';

/**
 * Sends lines of input to an agent until the input ends, and shows the evaluation.
 * @param leave called when the user quits and leaves the session open.
 * @returns the handler of Ctrl-C, and a promise that resolves at the end.
 */
export function talk(api: Api, options: TalkOptions, streams: Streams, leave: () => void) {
  const terminal = openTerminal(streams, interrupt);
  let conversation: Conversation | undefined;
  let replying = false;
  let asked = false;

  /** Interrupts a running reply. If no reply is running, the second Ctrl-C in a row quits. */
  function interrupt(): void {
    if (replying) void conversation?.interrupt().catch(report);
    else if (asked || !conversation) leave();
    else terminal.note('Type /end to end the session; Ctrl-C again leaves it open.');
    asked = !replying;
  }

  async function show(reply: Promise<void>): Promise<void> {
    replying = true;
    await reply.catch(report);
    replying = false;
  }

  /** Reports a refused message. The conversation continues. */
  function report(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    terminal.note(`[${error.message}]`);
  }

  async function run(): Promise<void> {
    if (options.embed && options.email && !options.apiKey) {
      throw new Error("--embed with an account needs --api-key too: a new key would revoke the tenant's");
    }
    const { email, password } = await enter(api, options);
    if (!options.email) terminal.note(`Registered ${email} (password ${password}).`);
    const agent = await chooseAgent(api, options.agent);
    if (options.knowledge?.length) await giveDocuments(api, agent.id, options.knowledge, terminal);
    conversation = options.embed
      ? await converseEmbedded(api, options.apiKey || (await newApiKey(api)), agent.id, terminal)
      : await converse(api, agent.id, terminal);
    terminal.note(`Connected to ${agent.name}. Ctrl-C interrupts a reply, /end ends the session.\n`);
    await show(conversation.greet());
    for await (const line of terminal.lines()) {
      asked = false;
      const text = line.trim();
      if (text === '/end') break;
      if (text !== '') await show(conversation.send(text));
    }
    terminal.note(describe(await conversation.end()));
  }

  return { interrupt, ended: run() };
}

function describe(found: Evaluation | undefined): string {
  if (!found) return '\nThe session has ended; its evaluation is not available yet.';
  const { score, recommendation, summary, strengths, weaknesses } = found;
  const lines = [summary, ...strengths.map((each) => `  + ${each}`), ...weaknesses.map((each) => `  - ${each}`)];
  return `\nEvaluation: ${score} of 100${recommendation ? ` · ${recommendation}` : ''}\n${lines.join('\n')}`;
}
