import { mkdirSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { apiService, hostAddress, type Node } from './addresses.ts';

/** The subject and the usage of a certificate. */
export interface CertificateRequest {
  /** The name of the certificate's files, `<name>.crt` and `<name>.key`. */
  name: string;
  commonName: string;
  /** The user's group. The API server and kubelets read groups from the certificate's organization. */
  organization?: string;
  usage: 'serverAuth' | 'clientAuth';
  /** A server's IP addresses and DNS names. */
  hosts?: string[];
}

/** Returns the requests for all certificates of a cluster. */
export function certificatesFor(nodes: Node[]): CertificateRequest[] {
  const api = 'kubernetes.default.svc.cluster.local';
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', api, 'localhost'];
  return [
    {
      name: 'apiserver',
      commonName: 'kube-apiserver',
      usage: 'serverAuth',
      hosts: [apiService, hostAddress, '127.0.0.1', ...names],
    },
    { name: 'kubelet-client', commonName: 'kube-apiserver', organization: 'system:masters', usage: 'clientAuth' },
    { name: 'etcd', commonName: 'etcd', usage: 'serverAuth', hosts: ['127.0.0.1'] },
    { name: 'etcd-client', commonName: 'kube-apiserver', usage: 'clientAuth' },
    { name: 'front-proxy', commonName: 'front-proxy', usage: 'clientAuth' },
    ...nodes.map(({ name, address }) => ({
      name,
      commonName: `system:node:${name}`,
      organization: 'system:nodes',
      usage: 'serverAuth' as const,
      hosts: [address, name],
    })),
  ];
}

/** Returns the extensions of a certificate in openssl's format. */
export function extensions({ usage, hosts = [] }: CertificateRequest): string {
  const names = hosts.map((host) => `${isIP(host) ? 'IP' : 'DNS'}:${host}`);
  return [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    `extendedKeyUsage=${usage}`,
    ...(names.length > 0 ? [`subjectAltName=${names.join(',')}`] : []),
    '',
  ].join('\n');
}

/** Makes the authority (`ca`), the certificates, and the key that signs tokens of service accounts (`service-accounts`). */
export async function makeCertificates(
  folder: string,
  requests: CertificateRequest[],
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const openssl = (...args: string[]) => exec('openssl', args, { cwd: folder, signal });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];
  const authority = ['-x509', '-subj', '/CN=parley-cluster', '-days', '365', '-keyout', 'ca.key', '-out', 'ca.crt'];
  const signsCertificates = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
  await openssl('req', ...newKey, ...authority, ...signsCertificates);
  // `ecparam` writes the older SEC1 format. The API server needs this format, because it cannot read the public key of a PKCS #8 file.
  await openssl('ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', 'service-accounts.key');
  await Promise.all(
    requests.map(async (request) => {
      const { name, commonName, organization } = request;
      const subject = `${organization ? `/O=${organization}` : ''}/CN=${commonName}`;
      writeFileSync(join(folder, `${name}.ext`), extensions(request));
      await openssl('req', ...newKey, '-subj', subject, '-keyout', `${name}.key`, '-out', `${name}.csr`);
      const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-days', '365', '-extfile', `${name}.ext`];
      await openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.crt`);
    }),
  );
}
