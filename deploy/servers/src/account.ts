/** The user that a server runs under where it is not the one that runs this program. */
export interface Account {
  uid: number;
  gid: number;
}
