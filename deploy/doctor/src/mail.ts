import { identitySettings } from '@parley/identity/config';
import { smtpTransport } from '@parley/identity/smtp-transport';
import { hasCode } from '@parley/kernel/errors';
import { within } from '@parley/kernel/timing/timers';
import { connectionProblem, hostAndPort, reach, reasonOf } from './connection-problem.ts';
import { type Installation, settingsRead, usable } from './installation.ts';
import { type Outcome, ok, wrong } from './outcome.ts';

const { smtpUrl } = identitySettings.delivery;
const settings = [smtpUrl.name];

/** Connects to the mail server and logs in. Sends no mail. */
export async function checkMail({ env, units, patienceMs }: Installation): Promise<Outcome[]> {
  const isRead = settingsRead(units).some(({ setting }) => setting.name === smtpUrl.name);
  const url = isRead ? usable(env, { smtpUrl })?.smtpUrl : undefined;
  if (url === undefined) return [];
  const { host, port, at } = hostAndPort(url);
  const transport = await smtpTransport(url, patienceMs);
  try {
    await reach(host, port, patienceMs);
    await within(2 * patienceMs, `Connecting to ${at}`, transport.verify());
    return [ok('mail.reachable', settings, `${at} accepts the login`)];
  } catch (error) {
    return [refused(error, at)];
  } finally {
    transport.close();
  }
}

function refused(error: unknown, at: string): Outcome {
  if (hasCode(error, 'EAUTH')) {
    const change = `Correct user and password in ${smtpUrl.name}.`;
    return wrong('mail.password', settings, `${at} refuses the login`, change);
  }
  const problem = connectionProblem(error, at);
  if (problem) return wrong(`mail.${problem.kind}`, settings, problem.found, problem.change);
  return wrong(
    'mail.failed',
    settings,
    `${at} does not answer as a mail server: ${reasonOf(error)}`,
    `Correct ${smtpUrl.name}.`,
  );
}
