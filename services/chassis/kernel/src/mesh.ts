/** How the units of a mesh reach each other. */
export interface MeshOptions {
  /** How often a client looks the name of a unit up again, in ms. Default 10,000. */
  lookupIntervalMs?: number | undefined;
}
