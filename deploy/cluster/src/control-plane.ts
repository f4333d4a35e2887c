import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiPort, hostAddress, servicesRange } from './addresses.ts';
import type { Access } from './api.ts';

/** The files that the control plane reads. */
export interface ControlPlaneFiles {
  /** The folder with the certificates. */
  certificates: string;
  /** The folder with the kubeconfigs. */
  kubeconfigs: string;
  /** The token file of the API server. */
  tokens: string;
}

const flags = (values: Record<string, string | number | boolean>) =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`);

/**
 * Returns etcd's flags. etcd requires client certificates, because every user of this machine can reach its ports. It does not sync to
 * disk, because `down` deletes its data anyway.
 */
export function etcdArgs(
  { certificates }: Pick<ControlPlaneFiles, 'certificates'>,
  { client, peer }: { client: number; peer: number },
): string[] {
  const clientUrl = `https://127.0.0.1:${client}`;
  const peerUrl = `https://127.0.0.1:${peer}`;
  const [authority, certificate, key] = [
    join(certificates, 'ca.crt'),
    join(certificates, 'etcd.crt'),
    join(certificates, 'etcd.key'),
  ];
  return flags({
    name: 'parley',
    'data-dir': 'data',
    'listen-client-urls': clientUrl,
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `parley=${peerUrl}`,
    'cert-file': certificate,
    'key-file': key,
    'trusted-ca-file': authority,
    'client-cert-auth': true,
    'peer-cert-file': certificate,
    'peer-key-file': key,
    'peer-trusted-ca-file': authority,
    'peer-client-cert-auth': true,
    // etcd's gateway would connect to etcd with the server's certificate, but etcd accepts only clients' certificates.
    'enable-grpc-gateway': false,
    'unsafe-no-fsync': true,
    'auto-compaction-retention': 1,
  });
}

/** Returns the credentials of etcd's only client, the API server. */
export function etcdAccess({ certificates }: Pick<ControlPlaneFiles, 'certificates'>): Access {
  const read = (name: string) => readFileSync(join(certificates, name), 'utf8');
  return { authority: read('ca.crt'), client: { cert: read('etcd-client.crt'), key: read('etcd-client.key') } };
}

export function apiServerArgs({ certificates, tokens }: ControlPlaneFiles, etcdPort: number): string[] {
  const certificate = (name: string) => join(certificates, `${name}.crt`);
  const key = (name: string) => join(certificates, `${name}.key`);
  return flags({
    'bind-address': hostAddress,
    'advertise-address': hostAddress,
    'secure-port': apiPort,
    'etcd-servers': `https://127.0.0.1:${etcdPort}`,
    'etcd-cafile': certificate('ca'),
    'etcd-certfile': certificate('etcd-client'),
    'etcd-keyfile': key('etcd-client'),
    'service-cluster-ip-range': servicesRange,
    'authorization-mode': 'Node,RBAC',
    'token-auth-file': tokens,
    'allow-privileged': true,
    'client-ca-file': certificate('ca'),
    'tls-cert-file': certificate('apiserver'),
    'tls-private-key-file': key('apiserver'),
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': key('service-accounts'),
    'service-account-signing-key-file': key('service-accounts'),
    'kubelet-client-certificate': certificate('kubelet-client'),
    'kubelet-client-key': key('kubelet-client'),
    'kubelet-certificate-authority': certificate('ca'),
    'kubelet-preferred-address-types': 'InternalIP',
    // The API server runs outside the nodes, so it calls aggregated APIs directly at the addresses of their pods, not through Services.
    'enable-aggregator-routing': true,
    'requestheader-client-ca-file': certificate('ca'),
    'requestheader-allowed-names': 'front-proxy',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': certificate('front-proxy'),
    'proxy-client-key-file': key('front-proxy'),
    profiling: false,
  });
}

function clientArgs(kubeconfig: string) {
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': hostAddress,
    'leader-elect': false,
    profiling: false,
  };
}

export function controllerManagerArgs({ certificates, kubeconfigs }: ControlPlaneFiles): string[] {
  return flags({
    ...clientArgs(join(kubeconfigs, 'controller-manager.kubeconfig')),
    'service-account-private-key-file': join(certificates, 'service-accounts.key'),
    'root-ca-file': join(certificates, 'ca.crt'),
    'use-service-account-credentials': true,
  });
}

export function schedulerArgs({ kubeconfigs }: ControlPlaneFiles): string[] {
  return flags(clientArgs(join(kubeconfigs, 'scheduler.kubeconfig')));
}
