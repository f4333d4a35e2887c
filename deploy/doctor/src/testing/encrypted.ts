import type { Environment } from '@parley/kernel/settings/config';
import type { TestCertificate } from '@parley/testing/test-authority';
import { type TlsProxyOptions, tlsProxy } from '@parley/testing/tls-proxy';
import type { ExecutionContext } from 'ava';
import type { Garden } from './garden.ts';
import { changed } from './planted.ts';

/** Returns settings with which the test installation's engines are reached by TLS, through proxies with this certificate. */
export async function encrypted(
  t: ExecutionContext,
  { env, brokers: [broker = ''] }: Garden,
  certificate: TestCertificate,
): Promise<Environment> {
  async function before(to: string, how: Partial<TlsProxyOptions> = {}): Promise<string> {
    const proxy = await tlsProxy({ to, certificate, ...how });
    t.teardown(() => proxy.close());
    return `localhost:${proxy.port}`;
  }
  const hostOf = (url: string | undefined) => new URL(url ?? '').host;
  const at = (url: string | undefined, change: (url: URL) => void) => changed(url, change);
  const postgres = await before(hostOf(env.DATABASE_URL), { negotiated: true });
  const database = (url: string | undefined, mode: string) =>
    at(url, (it) => Object.assign(it, { host: postgres, search: `?sslmode=${mode}` }));
  const redis = await before(hostOf(env.REDIS_URL));
  const mail = await before(hostOf(env.SMTP_URL));
  return {
    DATABASE_URL: database(env.DATABASE_URL, 'verify-full'),
    MIGRATIONS_DATABASE_URL: database(env.MIGRATIONS_DATABASE_URL, 'require'), // the driver treats `require` like `verify-full`
    REDIS_URL: at(env.REDIS_URL, (it) => Object.assign(it, { host: redis })).replace(/^redis:/u, 'rediss:'),
    KAFKA_BROKERS: await before(broker, { answers: (bytes, port) => advertised(bytes, broker, port) }),
    KAFKA_TLS: 'true',
    S3_ENDPOINT: `https://${await before(hostOf(env.S3_ENDPOINT))}`,
    SMTP_URL: at(env.SMTP_URL, (it) => Object.assign(it, { host: mail })).replace(/^smtp:/u, 'smtps:'),
  };
}

/**
 * Replaces the broker's advertised address with the proxy's. Both host names have nine letters, so the length of the message does not
 * change.
 */
function advertised(bytes: Buffer, broker: string, port: number): Buffer {
  const [host = '', own = ''] = broker.split(':');
  const text = (name: string, number: number) => {
    const end = Buffer.alloc(4);
    end.writeInt32BE(number);
    return Buffer.concat([Buffer.from(name), end]).toString('latin1');
  };
  const changed = bytes.toString('latin1').replaceAll(text(host, Number(own)), text('localhost', port));
  return Buffer.from(changed, 'latin1');
}
