/** The bridge of this machine that the nodes are connected to. */
export const bridge = 'parley0';
/** The address of this machine on that bridge: the API server and the engines of `scripts/servers` listen there. */
export const hostAddress = '10.88.0.1';
/** All addresses of nodes and pods. */
export const podsRange = '10.88.0.0/16';
export const servicesRange = '10.96.0.0/16';
export const apiPort = 6443;
export const apiUrl = `https://${hostAddress}:${apiPort}`;
/** The address of the Service of the API, the first one of the range. */
export const apiService = '10.96.0.1';
export const dnsService = '10.96.0.10';
/** More nodes than these do not fit on one machine anyway. */
export const maxNodes = 9;

/** A node: namespaces of this machine, connected to the bridge. */
export interface Node {
  name: string;
  address: string;
  /** The addresses of its pods. */
  pods: string;
  /** The end of its connection to the bridge. */
  link: string;
}

/** The nodes of a cluster, by the number of them. */
export function nodesOf(count: number): Node[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    address: `10.88.0.${11 + index}`,
    pods: `10.88.${index + 1}.0/24`,
    link: `parley-node-${index + 1}`,
  }));
}
