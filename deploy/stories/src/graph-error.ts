/** An error in a response of the public endpoint, over HTTP or a socket. */
export interface GraphError {
  message: string;
  path?: (string | number)[];
  extensions: { code: string; statusCode: number; reason?: string; fields?: { path: string; message: string }[] };
}
