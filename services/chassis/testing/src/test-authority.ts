import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key, both in PEM. */
export interface TestCertificate {
  key: string;
  cert: string;
}

export interface TestAuthority {
  /** The authority's own certificate, in PEM. */
  cert: string;
  /**
   * Issues a key with a certificate for these host names and IPv4 addresses.
   * @param days number of days until the certificate expires; negative for an expired certificate. Default 90
   * @param from number of days until the certificate becomes valid. Default: it became valid in the past, before its expiry
   */
  issue(names: string[], days?: number, from?: number): TestCertificate;
}

/**
 * Makes a new certificate authority.
 * @param days number of days until the authority's certificate expires
 */
export function testAuthority(name = 'authority of a test', days = 90): TestAuthority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = { name, key: own.privateKey };
  const cert = certificate({ name, publicKey: own.publicKey, extensions: [isAuthority], days }, signer);
  return {
    cert,
    issue(names, days = 90, from) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const subject = { name: names[0] ?? '', publicKey, extensions: [alternativeNames(names)], days, from };
      return { key: pemOf(privateKey), cert: certificate(subject, signer) };
    },
  };
}

/** A self-signed certificate with its key for a server name. By default the certificate may also sign other certificates. */
export function certificateFor(host: string, { mayIssue = true } = {}): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [alternativeNames([host]), ...(mayIssue ? [isAuthority] : [isSignerOfData])];
  const subject = { name: host, publicKey, extensions, days: 1 };
  return { key: pemOf(privateKey), cert: certificate(subject, { name: host, key: privateKey }) };
}

interface Subject {
  from?: number | undefined;
  name: string;
  publicKey: KeyObject;
  extensions: Buffer[];
  days: number;
}

function certificate(
  { name, publicKey, extensions, days, from }: Subject,
  signer: { name: string; key: KeyObject },
): string {
  const algorithm = sequence(objectId('2a8648ce3d040302')); // ecdsa-with-SHA256
  const version3 = element(0xa0, integer(Buffer.from([2])));
  const content = sequence(
    version3,
    integer(Buffer.from([1, ...randomBytes(8)])),
    algorithm,
    commonName(signer.name),
    sequence(dayFromNow(from ?? Math.min(-1, days - 1)), dayFromNow(days)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions)),
  );
  const signature = element(0x03, Buffer.from([0]), sign('sha256', content, signer.key));
  const der = sequence(content, algorithm, signature);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

function commonName(name: string): Buffer {
  return sequence(element(0x31, sequence(objectId('550403'), element(0x0c, Buffer.from(name)))));
}

function alternativeNames(names: string[]): Buffer {
  const each = names.map((name) =>
    isIP(name) === 4 ? element(0x87, Buffer.from(name.split('.').map(Number))) : element(0x82, Buffer.from(name)),
  );
  return sequence(objectId('551d11'), element(0x04, sequence(...each)));
}

/** Encodes one element of DER: its tag, its length and its content. */
function element(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  const head = content.length < 0x80 ? [tag, content.length] : [tag, 0x82, ...length];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return element(0x30, ...parts);
}

function objectId(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'));
}

function integer(bytes: Buffer): Buffer {
  return element(0x02, bytes);
}

const isAuthority = sequence(objectId('551d13'), element(0x04, sequence(element(0x01, Buffer.from([0xff])))));

/** The extension that limits the key's usage to `digitalSignature`. */
const isSignerOfData = sequence(objectId('551d0f'), element(0x04, element(0x03, Buffer.from([0x07, 0x80]))));

function dayFromNow(days: number): Buffer {
  const iso = new Date(Date.now() + days * 86_400_000).toISOString();
  return element(0x17, Buffer.from(`${iso.slice(2, 19).replaceAll(/\D/gu, '')}Z`));
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
