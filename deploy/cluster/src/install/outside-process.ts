// The model server and the mail server of an installation. Arguments: a folder, an address, and the two servers' ports.
import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { mailServer } from '@parley/doctor/testing/mail-server';
import { listen } from '@parley/kernel/http/listen';
import { processStart } from '@parley/kernel/processes/process-start';
import { startScriptedModel } from '@parley/stories/scripted-model';
import { type Outside, outsideFile } from './outside.ts';

const [folder = '', host = '', modelPort = '', mailPort = ''] = process.argv.slice(2);
// The password is not an argument, because every user of the machine can read the arguments of a process.
const password = randomBytes(16).toString('hex');

const model = await startScriptedModel();
// A reply takes about two seconds, so that pods that are replaced meanwhile have replies to finish.
model.answerOthers('', (text) => ({ text: `You asked: ${text}`.split(/(?<= )/u), deltaDelayMs: 250 }));
const mail = await mailServer(password);

await forward(Number(modelPort), model.port);
await forward(Number(mailPort), Number(new URL(mail.url).port));
const smtp = new URL(mail.url);
smtp.host = `${host}:${mailPort}`;
const outside: Outside = {
  pid: process.pid,
  started: processStart(process.pid) ?? '',
  modelUrl: `http://${host}:${modelPort}/v1`,
  model: model.env,
  smtpUrl: smtp.href,
  password,
};
const file = join(folder, outsideFile);
writeFileSync(`${file}.new`, JSON.stringify(outside), { mode: 0o600 });
renameSync(`${file}.new`, file);

/** Forwards connections, because both servers listen only on loopback, which pods cannot reach. */
async function forward(port: number, to: number): Promise<void> {
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
      socket.pipe(other);
    }
  });
  await listen(server, port, host);
}
