import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { addressName } from '@parley/kernel/processes/addresses';
import { SettingsError } from '@parley/kernel/settings/config';
import { meshSettings, unitProcessSettings } from '@parley/kernel/settings/shared-settings';
import { parseCertificates, readPem, wayTo } from '@parley/kernel/tls/certificates';
import { readMeshTlsFiles } from '@parley/kernel/tls/mesh';
import { hostAndPort } from './connection-problem.ts';
import { type Installation, usable } from './installation.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

const { extraCaCerts } = unitProcessSettings;
const { certFile, caFile } = meshSettings.tls;
const dayMs = 86_400_000;
/**
 * With the usual 90 days of validity, cert-manager renews 30 days before the end. A certificate with fewer days than this was not renewed
 * in time.
 */
const soonDays = 14;
const usages = { '1.3.6.1.5.5.7.3.1': 'servers', '1.3.6.1.5.5.7.3.2': 'clients' };

/** Checks the files of certificate authorities, and the certificate for calls between units. */
export function checkCertificates(installation: Installation): Outcome[] {
  const { env, now } = installation;
  const authorities = usable(env, { extraCaCerts })?.extraCaCerts;
  return [
    // The file is often a bundle with public authorities, so an expired certificate in it is only a warning. If an engine's certificate
    // needs the expired authority, the check of that engine reports it.
    ...(authorities === undefined ? [] : expiryOutcomes(extraCaCerts.name, certificatesOf(authorities), [], now())),
    ...meshOutcomes(installation),
  ];
}

function meshOutcomes({ env, units, now }: Installation): Outcome[] {
  const files = meshFiles(env);
  if (!files) return [];
  const [own, ...between] = certificatesOf(files.cert);
  const authorities = certificatesOf(files.ca);
  if (!own) return [];
  const isValid = ({ validTo }: X509Certificate) => Date.parse(validTo) > now();
  const way = wayTo(own, between.filter(isValid), authorities.filter(isValid)) ?? wayTo(own, between, authorities);
  const needed = [own, ...(way ?? [])];
  const outcomes = [
    ...expiryOutcomes(certFile.name, [own, ...between], needed, now()),
    ...expiryOutcomes(caFile.name, authorities, needed, now()),
  ];
  if (!way) {
    const found = `the certificate of ${certFile.name} does not lead to an authority of ${caFile.name}`;
    const change =
      'Other units would refuse it. Give it with the certificates between it and that authority, or add its authority.';
    outcomes.push(wrong('certificates.chain', [certFile.name, caFile.name], found, change));
  }
  const hosts = units.flatMap(({ name }) =>
    (['rpc', 'graph'] as const).flatMap((endpoint) => hostsOf(env[addressName(name, endpoint)])),
  );
  const unnamed = [...new Set(hosts)].filter((host) => !isFor(own, host));
  if (unnamed.length > 0) {
    const found = `the certificate of ${certFile.name} is not for ${unnamed.join(', ')}, by which units are called`;
    const change = `Make it for that name too (subjectAltName); it has ${own.subjectAltName ?? 'none'}.`;
    outcomes.push(wrong('certificates.name', [certFile.name], found, change));
  }
  const allowed = usagesOf(own);
  const missing = Object.entries(usages).filter(([usage]) => allowed?.includes(usage) === false);
  for (const [, whose] of missing) {
    const found = `the certificate of ${certFile.name} is not one of ${whose}, and a unit is both`;
    outcomes.push(wrong('certificates.usage', [certFile.name], found, 'Issue it for `server auth` and `client auth`.'));
  }
  if (outcomes.length > 0) return outcomes;
  const found = `calls between units are encrypted; the certificate is valid until ${own.validTo}`;
  return [ok('certificates.mesh', [certFile.name], found)];
}

/** Returns the TLS files of the mesh; undefined if there are none, or if they are unusable. `checkSettings` reports unusable files. */
function meshFiles(env: Installation['env']) {
  try {
    return readMeshTlsFiles(env);
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}

function certificatesOf(file: string): X509Certificate[] {
  return parseCertificates(readPem(file));
}

/**
 * Reports certificates that have expired or will expire soon.
 * @param needed certificates without which calls fail. If any other certificate has expired, e.g. that of a replaced authority, the outcome
 * is a warning
 */
function expiryOutcomes(
  name: string,
  certificates: X509Certificate[],
  needed: X509Certificate[],
  nowMs: number,
): Outcome[] {
  return certificates.flatMap((certificate) => {
    const { validTo } = certificate;
    const leftMs = Date.parse(validTo) - nowMs;
    const which = `the certificate ${nameOf(certificate)} of ${name}`;
    if (leftMs <= 0) {
      const found = `${which} has expired on ${validTo}`;
      if (needed.includes(certificate)) {
        const change = 'Renew it, and see why that was not done in time.';
        return [wrong('certificates.expired', [name], found, change)];
      }
      const change = 'Leave it out when you next change the file. What fails because of it is named on its own.';
      return [warning('certificates.expired', [name], found, change)];
    }
    if (leftMs > soonDays * dayMs) return [];
    const change = 'See whether it is renewed by itself, as cert-manager does; else renew it.';
    return [warning('certificates.expiry', [name], `${which} expires on ${validTo}`, change)];
  });
}

/** Returns the key usages of a certificate; undefined if all usages are allowed. Node's types lack this case. */
function usagesOf({ keyUsage }: { keyUsage?: string[] }): string[] | undefined {
  return keyUsage;
}

function nameOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}

function hostsOf(addresses = ''): string[] {
  const urls = addresses.split(',').map((address) => (address.includes('://') ? address : `rpc://${address.trim()}`));
  return urls
    .filter((url) => URL.canParse(url))
    .map((url) => hostAndPort(url).host)
    .filter(Boolean);
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return found !== undefined;
}
