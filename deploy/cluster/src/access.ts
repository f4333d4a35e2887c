import type { Node } from './addresses.ts';

/** A user of the Kubernetes API who authenticates with a token. */
export interface ApiUser {
  /** The name of the user's kubeconfig, without extension. */
  file: string;
  user: string;
  group?: string;
}

/** Returns the cluster's own programs and the administrator as API users. Kubernetes' default roles define their rights. */
export function apiUsers(nodes: Node[]): ApiUser[] {
  return [
    { file: 'admin', user: 'admin', group: 'system:masters' },
    { file: 'controller-manager', user: 'system:kube-controller-manager' },
    { file: 'scheduler', user: 'system:kube-scheduler' },
    { file: 'kube-proxy', user: 'system:kube-proxy' },
    { file: 'kube-router', user: 'kube-router', group: 'system:masters' },
    ...nodes.map(({ name }) => ({ file: name, user: `system:node:${name}`, group: 'system:nodes' })),
  ];
}

/** Returns the content of the API server's `--token-auth-file`. */
export function tokenFile(users: ApiUser[], tokens: ReadonlyMap<string, string>): string {
  return users
    .map(({ file, user, group }) => [tokens.get(file), user, user, ...(group ? [`"${group}"`] : [])].join(','))
    .map((line) => `${line}\n`)
    .join('');
}

/** Returns a kubeconfig with one user, as JSON, which is valid YAML. */
export function kubeconfig(
  { user }: ApiUser,
  { token, authority, server }: Record<'token' | 'authority' | 'server', string>,
): string {
  const name = 'parley';
  const data = Buffer.from(authority).toString('base64');
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': data } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}
