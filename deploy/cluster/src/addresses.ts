/** The network bridge on this machine that connects the nodes. */
export const bridge = 'parley0';
/** This machine's address on the bridge. The API server and the engines of `scripts/servers` listen there. */
export const hostAddress = '10.88.0.1';
/** The address range of nodes and pods. */
export const podsRange = '10.88.0.0/16';
export const servicesRange = '10.96.0.0/16';
export const apiPort = 6443;
export const apiUrl = `https://${hostAddress}:${apiPort}`;
/** The address of the API server's Service: always the first address in the range of Services. */
export const apiService = '10.96.0.1';
export const dnsService = '10.96.0.10';
/** The maximum number of nodes of a cluster. One machine has no room for more. */
export const maxNodes = 9;

/** A node: a network namespace and a mount namespace of this machine, connected to the bridge. */
export interface Node {
  name: string;
  address: string;
  /** The address range of the node's pods. */
  pods: string;
  /** The name of the network interface that connects the node to the bridge. */
  link: string;
}

/** Returns the nodes of a cluster with `count` nodes. */
export function nodesOf(count: number): Node[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    address: `10.88.0.${11 + index}`,
    pods: `10.88.${index + 1}.0/24`,
    link: `parley-node-${index + 1}`,
  }));
}
