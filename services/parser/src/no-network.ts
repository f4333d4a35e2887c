import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';

/** Makes all connections and DNS look-ups of this process fail, because the files that it reads contain addresses. */
export function closeNetwork(): void {
  const refuse = (): never => {
    throw new Error('No network is used here');
  };
  Socket.prototype.connect = refuse;
  dgram.createSocket = refuse;
  for (const [name, value] of Object.entries({ ...dns, ...dns.promises })) {
    if (typeof value !== 'function') continue;
    if (name in dns) Object.assign(dns, { [name]: refuse });
    if (name in dns.promises) Object.assign(dns.promises, { [name]: refuse });
  }
  syncBuiltinESMExports();
}
