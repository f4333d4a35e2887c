import { listen } from '@parley/kernel/http/listen';
import { SMTPServer } from 'smtp-server';

/** Starts a mail server with one login. */
export async function mailServer(password: string) {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (given, _, done) =>
      given.password === password ? done(null, { user: 'gardener' }) : done(new Error('Who is there?')),
  });
  const at = await listen(server.server);
  return {
    url: `smtp://gardener:${password}@${at}`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
