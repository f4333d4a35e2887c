import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { hasCode } from '../errors.ts';

/**
 * The certificates of a text in PEM, in its order.
 * @throws Error which says what is wrong with it, without its content.
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
 * Those by which one leads to an authority: this alone, or certificates between them first. Undefined where there is no way. One that has
 * signed itself is its own authority where it is among them, whatever it says that its key is for.
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

/** The text of a file. @throws Error which says why it cannot be read, without its path */
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

/** For messages: a path, unless the content of a file, which may be a key, was given in its place. */
export const shownPath = (path: string) =>
  /[\r\n]|-----BEGIN/u.test(path) ? 'the content of a file in place of its path' : path;

/** The path of a file with certificates in PEM, which is there when the setting is read. */
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
