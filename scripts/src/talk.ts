import { readSettings } from '@parley/kernel/settings/config';
import { talkSettings } from '@parley/units/command-settings';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { publicApi } from './talk/api.ts';
import { talk } from './talk/talk.ts';

const usage = `Talks to an agent from the terminal, through the public API only.

  scripts/talk [--url URL] [--email EMAIL --password PASSWORD] [--agent ID] [--knowledge FILE…]
               [--embed [--api-key KEY]]

  --url       the GraphQL endpoint                      (PARLEY_URL, default ${readSettings({}, talkSettings).url})
  --email     an account to sign in with                (PARLEY_EMAIL, PARLEY_PASSWORD)
  --password  its password; without both, a throw-away account is registered
  --agent     the agent's id; default: the account's newest agent, or an example that is created
  --embed     talks in an embedded session, like the chat widget of a page: by @parley/embed, with only a session token
  --api-key   the key that starts an embedded session   (PARLEY_API_KEY); a throw-away account gets its own
  --knowledge text files, stored in a new knowledge base that the agent uses from then on

For each tool that the agent calls, a line shows the outcome and the duration. After each reply, lines show its documents,
its model and its cost, if it has any. Ctrl-C interrupts a reply. /end, or the end of the input, ends the session and shows
its evaluation. Input may come from a pipe.
Exit codes: 0; 1 if something failed; 130 if Ctrl-C stopped the command and the session is still open.
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
