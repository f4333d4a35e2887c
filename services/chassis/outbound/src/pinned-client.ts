import type { LookupFunction, Socket } from 'node:net';
import { readAddress } from '@parley/kernel/http/client-network';
import { buildConnector, Client } from 'undici';

const maxHeaderBytes = 32_768;

/** Makes a client for one request only, without a proxy. For a later request, the address would have to be checked again. */
export function pinnedClient(url: URL, addresses: readonly string[]): Client {
  const checked = new Set(addresses.map(canonical));
  const connect = buildConnector({
    lookup: lookupOf(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 500,
    allowH2: false,
    timeout: 0,
    keepAlive: false,
    maxCachedSessions: 0,
  });
  return new Client(url.origin, {
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error) return callback(error, null);
        // A literal IP address is not looked up, so the address of the connected peer is checked here.
        if (isCheckedPeer(socket, checked)) return callback(null, socket);
        socket.destroy();
        callback(new Error('Connected to an address that was not checked'), null);
      }),
    pipelining: 1,
    maxHeaderSize: maxHeaderBytes,
    // These timeouts are disabled, because they restart with every byte. The deadline of the whole call applies.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function isCheckedPeer({ remoteAddress }: Socket, checked: ReadonlySet<string | undefined>): boolean {
  return remoteAddress !== undefined && checked.has(canonical(remoteAddress));
}

function canonical(address: string): string | undefined {
  return readAddress(address)?.toString();
}

function lookupOf(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_host, { all }, callback) => {
    const [first] = found;
    if (all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  };
}
