import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Part } from '../processes/unit.ts';
import { type Environment, readSettings, SettingsError } from '../settings/config.ts';
import { meshSettings } from '../settings/shared-settings.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseCertificates, readPem, shownPath, wayTo } from './certificates.ts';

/** Default of `MeshOptions.lookupIntervalMs`. */
export const defaultLookupIntervalMs = 10_000;

/** DNS and TLS settings of calls between the units of a mesh. */
export interface MeshOptions {
  /** Interval in ms at which a client resolves the name of a unit again. Default 10,000. */
  lookupIntervalMs?: number | undefined;
  /** Certificates for mutual TLS. Without them calls between units are not encrypted. */
  tls?: MeshTls | undefined;
}

/** A certificate with its key, and the authorities that have signed the certificates of other units; in PEM. */
export interface MeshCertificate {
  cert: string;
  key: string;
  ca: string;
}

export interface MeshTls {
  readonly current: MeshCertificate;
  /** When the certificate expires, in seconds of Unix time. */
  readonly expiresAt: number;
  /** Calls `listener` with each new certificate. @returns a function that unsubscribes */
  onChange(listener: (changed: MeshCertificate) => void): () => void;
}

/** The paths of the TLS files from the settings. The keys name what the files contain. */
export type MeshTlsFiles = Record<keyof MeshCertificate, string>;

/** Kubernetes replaces mounted files within about a minute. */
const rereadIntervalMs = 10_000;

const { certFile, keyFile, caFile } = meshSettings.tls;
const names: MeshTlsFiles = { cert: certFile.name, key: keyFile.name, ca: caFile.name };

/**
 * Reads the TLS files for calls to other units. The returned part rereads the files, so that a certificate can be replaced without a
 * restart.
 * @throws SettingsError if only some of the files are given, if a file is invalid, or if the files do not belong together
 */
export function readMesh(env: Environment, log?: Pick<Logger, 'info' | 'warn'>): MeshOptions & Part {
  const { lookupIntervalMs } = readSettings(env, { lookupIntervalMs: meshSettings.lookupIntervalMs });
  const files = readMeshTlsFiles(env);
  const tls = files && meshTls(files, log);
  return {
    name: 'mesh',
    lookupIntervalMs,
    tls,
    async start() {
      await tls?.start();
    },
    async stop() {
      await tls?.stop();
    },
  };
}

/**
 * Returns the file paths of the settings, after reading each file once; undefined if no files are set.
 * @throws SettingsError if only some of the files are given, or if they are invalid
 */
export function readMeshTlsFiles(env: Environment): MeshTlsFiles | undefined {
  const { certFile: cert, keyFile: key, caFile: ca } = readSettings(env, meshSettings.tls);
  const given = [names.cert, names.key, names.ca].filter((name) => env[name]);
  if (cert === undefined || key === undefined || ca === undefined) {
    const missing = [names.cert, names.key, names.ca].filter((name) => !given.includes(name));
    if (given.length === 0) return undefined;
    throw new SettingsError(missing.map((name) => `${name}: is missing, and ${given.join(' and ')} is set`));
  }
  const files = { cert, key, ca };
  readMeshCertificate(files);
  return files;
}

/** Reads the certificate and its key. @throws SettingsError if a file cannot be read, or the key does not match the certificate */
function readMeshCertificate(files: MeshTlsFiles): MeshCertificate {
  const problems: string[] = [];
  const attempt = <T>(kind: keyof MeshCertificate, read: (path: string) => T): T | undefined => {
    try {
      return read(files[kind]);
    } catch (error) {
      problems.push(`${names[kind]}: ${shownPath(files[kind])}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const certificates = (path: string) => {
    const text = readPem(path);
    if (text.split(begun).length !== text.split(ended).length) throw new Error('has a certificate without its end');
    return { text, first: parseCertificates(text)[0] };
  };
  const cert = attempt('cert', certificates);
  const ca = attempt('ca', certificates);
  const key = attempt('key', (path) => {
    const text = readPem(path);
    return { text, private: privateKey(text) };
  });
  if (cert?.first && key && !cert.first.checkPrivateKey(key.private)) {
    problems.push(`${names.key}: is not the key of the certificate of ${names.cert}`);
  }
  if (!cert || !ca || !key || problems.length > 0) throw new SettingsError(problems);
  const read = { cert: cert.text, key: key.text, ca: ca.text };
  try {
    createSecureContext(read); // TLS refuses e.g. keys that are too short, which parsing accepts
  } catch (error) {
    throw new SettingsError([`${names.cert}: cannot be used for TLS: ${(error as Error).message}`]);
  }
  return read;
}

const [begun, ended] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];

function privateKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new Error('has no private key in PEM without a passphrase', { cause: error });
  }
}

/** Returns why other units would refuse a certificate; undefined if they would accept it. */
function whyRefused({ cert, ca }: MeshCertificate): string | undefined {
  const [own, ...between] = parseCertificates(cert);
  if (!own) return undefined;
  const now = Date.now();
  if (Date.parse(own.validTo) <= now) return `${names.cert}: has expired on ${own.validTo}`;
  if (Date.parse(own.validFrom) > now) return `${names.cert}: is not valid before ${own.validFrom}`;
  const isValid = ({ validFrom, validTo }: X509Certificate) =>
    Date.parse(validFrom) <= now && now < Date.parse(validTo);
  const authorities = parseCertificates(ca);
  if (wayTo(own, between.filter(isValid), authorities.filter(isValid))) return undefined;
  return wayTo(own, between, authorities)
    ? `${names.cert}: an authority that has signed it is not valid now`
    : `${names.cert}: is signed by none of the authorities of ${names.ca}`;
}

/**
 * Rereads the files. The previous files stay in use while new files are being written, and if the new files are damaged or other units
 * would refuse them.
 */
export function meshTls(
  files: MeshTlsFiles,
  log?: Pick<Logger, 'info' | 'warn'>,
  intervalMs = rereadIntervalMs,
): MeshTls & Part {
  let current = readMeshCertificate(files);
  let timer: NodeJS.Timeout | undefined;
  let problem: string | undefined;
  const listeners = new Set<(changed: MeshCertificate) => void>();

  function reread(): void {
    try {
      const read = readMeshCertificate(files);
      const refused = whyRefused(read);
      if (refused !== undefined) throw new SettingsError([refused]);
      problem = undefined;
      if (read.cert === current.cert && read.key === current.key && read.ca === current.ca) return;
      current = read;
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      const found = error.problems.join('; ');
      if (problem === found) return;
      problem = found;
      log?.warn({ problems: error.problems }, 'mesh certificate cannot be used; the one before counts on');
      return;
    }
    for (const listener of listeners) listener(current);
    const { validTo } = new X509Certificate(current.cert);
    log?.info({ validTo }, 'mesh certificate replaced');
  }

  return {
    name: 'mesh certificate',
    get current() {
      return current;
    },
    get expiresAt() {
      return new Date(new X509Certificate(current.cert).validTo).getTime() / 1_000;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async start() {
      timer = setInterval(reread, intervalMs).unref();
    },
    async stop() {
      clearInterval(timer);
    },
  };
}
