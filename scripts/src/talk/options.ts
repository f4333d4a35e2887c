import { parseArgs } from 'node:util';

/** Where `scripts/up` listens when nothing says otherwise. */
export const defaultUrl = 'http://localhost:4000/graphql';

export const usage = `Talks to an agent from the terminal, by the public API alone.

  scripts/talk [--url URL] [--email EMAIL --password PASSWORD] [--agent ID]

  --url       the GraphQL endpoint                      (PARLEY_URL, default ${defaultUrl})
  --email     an account to sign in with; without one   (PARLEY_EMAIL, PARLEY_PASSWORD)
  --password  a throw-away account is registered
  --agent     the agent's id; without one the newest, else an example is made

Ctrl-C interrupts a reply. /end, or the end of the input, ends the session and shows its evaluation.
Input may come from a pipe. Exit code: 0, or 1 when something failed, or 130 when the session was left open by Ctrl-C.
`;

export interface TalkOptions {
  url: string;
  /** Both or none. */
  email?: string;
  password?: string;
  agent?: string;
}

/** @throws Error that says which option is wrong. */
export function readOptions(args: string[], env: Record<string, string | undefined>): TalkOptions | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: 'string', default: env.PARLEY_URL || defaultUrl },
      email: { type: 'string', default: env.PARLEY_EMAIL || '' },
      password: { type: 'string', default: env.PARLEY_PASSWORD || '' },
      agent: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const { email, password, agent } = values;
  if (!email !== !password) throw new Error('--email and --password go together');
  return { url: endpoint(values.url), ...(email && { email, password }), ...(agent && { agent }) };
}

/** The address of the mesh will do as well. */
function endpoint(text: string): string {
  if (!URL.canParse(text) || !/^https?:/u.test(text)) throw new Error(`--url ${text} is not an http or https URL`);
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = '/graphql';
  return url.href;
}
