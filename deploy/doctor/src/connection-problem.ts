import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { hasCode } from '@parley/kernel/errors';

export interface ConnectionProblem {
  /** `host`: unknown name. `refused`: no program listens. `silent`: no response. `closed`: the server closed the connection. */
  kind: 'host' | 'refused' | 'silent' | 'closed' | 'tls';
  found: string;
  change: string;
}

const silent = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNABORTED', 'EDNSTIMEOUT', 'UND_ERR_CONNECT_TIMEOUT'];
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|ISSUER/u;
const tls = /^(?:ERR_TLS|ERR_SSL|EPROTO|ETLS)|WRONG_VERSION_NUMBER/u;

/** Returns the reason why a server could not be reached. Undefined for other errors, such as a refused password. */
export function connectionProblem(error: unknown, at: string): ConnectionProblem | undefined {
  const errors = withCauses(error);
  const has = (...codes: string[]) => errors.some((each) => hasCode(each, ...codes));
  const codes = errors.map((each) => ('code' in each ? String(each.code) : ''));
  if (has('ENOTFOUND', 'EAI_AGAIN', 'EDNS')) {
    return {
      kind: 'host',
      found: `the host name of ${at} is unknown here`,
      change: 'Correct the host, or the DNS of the place where the units run.',
    };
  }
  if (has('ECONNREFUSED')) {
    return {
      kind: 'refused',
      found: `nothing listens at ${at}`,
      change: 'Start the server, or correct host and port.',
    };
  }
  // Errors of the mail client have other codes than Node's errors, but contain Node's messages.
  if (codes.some((code) => certificate.test(code)) || errors.some(({ message }) => /certificate/u.test(message))) {
    return { kind: 'tls', ...certificateProblem(error, at) };
  }
  if (codes.some((code) => tls.test(code)) || errors.some(({ message }) => /SSL|TLS/u.test(message))) {
    return {
      kind: 'tls',
      found: `${at} and the setting disagree about TLS`,
      change: 'Ask for TLS where the server offers it, and not where it does not.',
    };
  }
  if (has(...silent) || errors.some(isTimeout)) {
    return {
      kind: 'silent',
      found: `${at} does not answer`,
      change: 'Let the units reach it (firewall, NetworkPolicy), or correct host, port and TLS.',
    };
  }
  if (has('ECONNRESET', 'EPIPE', 'ECONNECTION', 'UND_ERR_SOCKET') || errors.some(isClosed)) {
    return {
      kind: 'closed',
      found: `${at} accepts connections and closes them`,
      change: 'See whether this is the right port, and whether the server wants TLS there.',
    };
  }
  return undefined;
}

function certificateProblem(error: unknown, at: string): Omit<ConnectionProblem, 'kind'> {
  const reason = reasonOf(error);
  if (/altnames/u.test(reason)) {
    return {
      found: `the certificate of ${at} is not for that name: ${reason}`,
      change: 'Name the server as its certificate does, or give it a certificate with this name (subjectAltName).',
    };
  }
  if (/expired/u.test(reason)) {
    return {
      found: `the certificate of ${at} has expired`,
      change: 'Renew it, and see why that was not done in time.',
    };
  }
  return {
    found: `the certificate of ${at} is not trusted: ${reason}`,
    change:
      'Give the units the authority that has signed it: NODE_EXTRA_CA_CERTS=FILE, `tls.authorities` of the chart.',
  };
}

/** Resolves when a connection to the port was accepted. Sends nothing. */
export async function reach(host: string, port: number, timeoutMs: number): Promise<void> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
  } finally {
    socket.destroy();
  }
}

/** Resolves when a host name has an address. */
export async function resolveHost(host: string): Promise<void> {
  await lookup(host);
}

/** Returns `host:port` of a URL, without its login. */
export function hostAndPort(url: string): { host: string; port: number; at: string } {
  const { hostname, port, protocol } = new URL(url);
  const given = Number(port) || (usualPorts[protocol] ?? 0);
  return { host: hostname.replace(/^\[|\]$/gu, ''), port: given, at: `${hostname}:${given}` };
}

const usualPorts: Record<string, number> = {
  'http:': 80,
  'https:': 443,
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'smtp:': 587,
  'smtps:': 465,
};

/** Returns an error and all its causes. */
export function withCauses(error: unknown): Error[] {
  if (!(error instanceof Error)) return [];
  const parts = error instanceof AggregateError ? error.errors : [];
  return [error, ...[...parts, error.cause].flatMap(withCauses)];
}

/** Returns the messages of an error and of its causes. */
export function reasonOf(error: unknown): string {
  const messages = withCauses(error).map(({ message }) => message);
  return [...new Set(messages.filter(Boolean))].join(': ') || String(error);
}

const isTimeout = ({ name, message }: Error) => /Timeout/u.test(name) || /time(?:d )?out|took longer/iu.test(message);
const isClosed = ({ message }: Error) => /closed|terminated|hang up|disconnected/iu.test(message);
