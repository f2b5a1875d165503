// The certified OpenID provider with its own development pages: any password logs in. Groups are told at userinfo only.
import Provider from "oidc-provider";

const [port, callback] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "pentad", client_secret: "a secret of the tests", redirect_uris: [callback] }],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}.hopper`, groups: id === "grace" ? ["staff"] : [] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
