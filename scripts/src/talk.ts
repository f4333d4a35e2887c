import { readSettings } from '@parley/kernel/settings/config';
import { talkSettings } from '@parley/units/command-settings';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { publicApi } from './talk/api.ts';
import { talk } from './talk/talk.ts';

const usage = `Talks to an agent from the terminal, by the public API alone.

  scripts/talk [--url URL] [--email EMAIL --password PASSWORD] [--agent ID] [--knowledge FILE…]
               [--embed [--api-key KEY]]

  --url       the GraphQL endpoint                      (PARLEY_URL, default ${readSettings({}, talkSettings).url})
  --email     an account to sign in with; without one   (PARLEY_EMAIL, PARLEY_PASSWORD)
  --password  a throw-away account is registered
  --agent     the agent's id; without one the newest, else an example is made
  --embed     talks in an embedded session, as the browser of a page does: by @parley/embed, with a session token alone
  --api-key   starts it, with an account of your own  (PARLEY_API_KEY); for a throw-away account a key is made
  --knowledge text files that the agent is to answer from; they stay with it, in a knowledge base of their own

A tool that the agent calls has a line, with how the call ended and how long it took.
After each reply stand the documents that it was given, the model that served it and its cost, where it has them. Ctrl-C interrupts a reply.
/end, or the end of the input, ends the session and shows its evaluation.
Input may come from a pipe. Exit code: 0, or 1 when something failed, or 130 when the session was left open by Ctrl-C.
`;

const { stdout } = process;
const defaults = readSettings(process.env, talkSettings);
const {
  positionals,
  knowledge,
  'api-key': apiKey,
  ...options
} = readOptions(
  usage,
  {
    url: { type: 'string', default: defaults.url },
    email: { type: 'string', default: defaults.email },
    password: { type: 'string', default: defaults.password },
    agent: { type: 'string' },
    embed: { type: 'boolean' },
    'api-key': { type: 'string', default: defaults.apiKey },
    knowledge: { type: 'string', multiple: true },
  },
  100,
);

// The reader of stdout has ended, e.g. `head`.
stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
await attempt(() => {
  if (!knowledge && positionals.length > 0) throw new Error(`Unexpected argument: ${positionals[0]}`);
  const { interrupt, ended } = talk(
    publicApi(options.url),
    { ...options, apiKey, knowledge: [...(knowledge ?? []), ...positionals] },
    process,
    () => process.exit(130),
  );
  process.on('SIGINT', interrupt);
  return ended;
});
