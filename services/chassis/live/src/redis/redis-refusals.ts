import { type DomainError, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { ErrorReply } from '@redis/client';

/** How long a process is not ready after a command was refused to its login. */
const rememberedMs = 60_000;

const denied = /^NOPERM |ACL failure in script|^ERR The user executing the script can't /u;
const ofCommand = /run the '(?<name>[^']+)' command/u;
const ofLine = /@user_script:(?<line>\d+)/u;
const calls = /redis\.p?call\('(?<name>\w+)'/gu;

export type RedisRefusals = ReturnType<typeof redisRefusals>;

/** Remembers which commands the login of a connection may not run. */
export function redisRefusals(log?: Pick<Logger, 'error'>) {
  const lastMs = new Map<string, number>();

  function isRemembered(permission: string): boolean {
    return performance.now() - (lastMs.get(permission) ?? Number.NEGATIVE_INFINITY) < rememberedMs;
  }

  return {
    /**
     * Returns `unavailable` with the command that the login may not run, and logs it once; undefined for any other error.
     * @param sent the command that was sent, and the text of the script if it runs one
     */
    errorOf(error: unknown, sent: { command: string; script?: string | undefined }): DomainError | undefined {
      const permission = permissionIn(error, sent);
      if (permission === undefined) return undefined;
      if (!isRemembered(permission)) log?.error({ permission, err: error }, 'Redis login lacks a permission');
      lastMs.set(permission, performance.now());
      return lacking(permission, error);
    },
    /**
     * Checks that no command was refused recently.
     * @throws DomainError `unavailable` with the commands that were refused to the login in the last minute
     */
    check(): void {
      const permissions = [...lastMs.keys()].filter(isRemembered);
      if (permissions.length > 0) throw lacking(permissions.join(', '));
    },
  };
}

function lacking(permission: string, cause?: unknown): DomainError {
  return unavailable(`The login of Redis lacks a permission: ${permission}`, cause);
}

/**
 * Returns the missing right: `XADD` if the login may not run the command, or `GET on its key` if it may run the command only on other keys.
 */
function permissionIn(error: unknown, { command, script }: { command: string; script?: string | undefined }) {
  if (!(error instanceof ErrorReply) || !denied.test(error.message)) return undefined;
  const { message } = error;
  const name = ofCommand.exec(message)?.groups?.name?.replace('|', ' ') ?? callAt(message, script) ?? command;
  const [, subject] = /(?:access|publish to)\b.*\b(key|channel)/u.exec(message) ?? [];
  return subject === undefined ? name.toUpperCase() : `${name.toUpperCase()} on its ${subject}`;
}

/**
 * Returns the command that a script calls in the line that `message` names; by default the first command of the script. Redis 7.0 names
 * only the line.
 */
function callAt(message: string, script: string | undefined): string | undefined {
  const line = Number(ofLine.exec(message)?.groups?.line);
  const ofScript = (text = '') => [...text.matchAll(calls)].map(({ groups }) => groups?.name);
  const [name] = ofScript(script?.split('\n')[line - 1]);
  return name ?? ofScript(script)[0];
}
