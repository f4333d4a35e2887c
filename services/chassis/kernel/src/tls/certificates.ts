import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { hasCode } from '../errors.ts';

/**
 * Parses the certificates of a PEM text, in order.
 * @throws Error that explains the problem without quoting the text.
 */
export function parseCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu) ?? [];
  if (blocks.length === 0) throw new Error('has no certificate in PEM');
  return blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new Error('has a certificate that cannot be read', { cause: error });
    }
  });
}

/**
 * Returns the chain from a certificate to an authority: the authority alone, or intermediates first. Undefined if there is no chain. A
 * self-signed certificate among the authorities is its own authority, regardless of its declared key usage.
 */
export function wayTo(
  certificate: X509Certificate,
  between: X509Certificate[],
  authorities: X509Certificate[],
): X509Certificate[] | undefined {
  const isBy = (issuer: X509Certificate) => certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  const isItself = ({ fingerprint256 }: X509Certificate) =>
    fingerprint256 === certificate.fingerprint256 && certificate.verify(certificate.publicKey);
  const authority = authorities.find((each) => isBy(each) || isItself(each));
  if (authority) return [authority];
  for (const next of between.filter(isBy)) {
    const others = between.filter((each) => each !== next);
    const way = wayTo(next, others, authorities);
    if (way) return [next, ...way];
  }
  return undefined;
}

/**
 * Reads a text file.
 * @throws Error if the file cannot be read; the message has the reason but not the path
 */
export function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? 'there is no such file' : `it cannot be read (${codeOf(error)})`;
    throw new Error(reason, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'of an unknown error';
}

/**
 * Returns the path for messages. If the value is not a path but the content of a file, which may be a key, returns a note without that
 * content.
 */
export const shownPath = (path: string) =>
  /[\r\n]|-----BEGIN/u.test(path) ? 'the content of a file in place of its path' : path;

/** The path of a PEM file with certificates; the file must exist when the setting is read. */
export const certificatesFile = z
  .string()
  .check(({ value, issues }) => {
    try {
      parseCertificates(readPem(value));
    } catch (error) {
      issues.push({ code: 'custom', input: value, message: `${shownPath(value)}: ${(error as Error).message}` });
    }
  })
  .meta({ title: 'file' });
