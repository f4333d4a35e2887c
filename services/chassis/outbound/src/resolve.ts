import { lookup, Resolver } from 'node:dns/promises';
import { hasCode } from '@parley/kernel/errors';

/**
 * Resolves a name to all its addresses, in the order in which to try them; empty if the name has no address.
 * @throws if DNS does not respond
 */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

const noAddress = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];

const queryTimeoutMs = 2_000;

/**
 * Queries DNS directly. The hosts file and search domains are not used, because they name internal hosts; libuv's thread pool is not used,
 * because it is small.
 */
export function dnsResolver({ servers }: { servers?: string[] } = {}): Resolve {
  return async (host, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel);
    try {
      // The final dot makes the name absolute.
      const answers = await Promise.allSettled([resolver.resolve4(`${host}.`), resolver.resolve6(`${host}.`)]);
      signal.throwIfAborted();
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      const failed = failures.find((reason) => !hasCode(reason, ...noAddress));
      if (addresses.length === 0 && failed) throw failed;
      return addresses;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

/** Resolves a name as the operating system does, including the hosts file. Used for hosts that the operator has allowed. */
export const systemResolver: Resolve = async (host, signal) => {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason));
  const addresses = await Promise.race([lookup(host, { all: true }), aborted]);
  return addresses.map(({ address }) => address);
};
