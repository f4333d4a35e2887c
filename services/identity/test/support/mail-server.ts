import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export interface MailServerOptions {
  /** The port to listen on. Default: a free port. */
  port?: number;
  /** Recipients that the server refuses permanently. */
  unknown?: string[];
  /** The number of deliveries that fail with a temporary error before the first is accepted. */
  busy?: number;
}

/** Starts a real SMTP server with one mailbox for all recipients. */
export async function startMailServer(
  t: ExecutionContext,
  { port = 0, unknown = [], busy = 0 }: MailServerOptions = {},
) {
  const mailbox: Email[] = [];
  let failures = busy;
  const refusal = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode });
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _, done) =>
      done(unknown.includes(address) ? refusal(550, `no mailbox ${address} here`) : null),
    onData(stream, _, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        failures -= 1;
        if (failures >= 0) return done(refusal(451, 'busy; try again'));
        mailbox.push(await PostalMime.parse(Buffer.concat(chunks)));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  t.teardown(stop);
  const { port: listening } = server.server.address() as AddressInfo;
  return { mailbox, port: listening, url: `smtp://127.0.0.1:${listening}`, stop };
}
