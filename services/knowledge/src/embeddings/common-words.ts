export const commonWords: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any are as at be because been before being below between both but by can could
   did do does doing don down during each few for from further get had has have having he her here hers him his how i if in into is it
   its itself just like many may me might more most much must my no nor not now of off on once one only or other our out over own s same
   she should so some such t than that the their them then there these they this those through to too under until up us very was we were
   what when where which while who whom whose why will with would you your
   der die das den dem des ein eine einer eines einem einen und oder aber nicht ist sind war waren wird werden wurde hat haben hatte ich
   du er sie es wir ihr mein dein sein unser mit von zu zum zur bei nach aus auf fur uber unter vor als wie was wer wo wann warum dass so
   auch noch nur schon im am an in um kann konnen muss
   le la les un une des du de et ou mais ne pas est sont etait il elle on nous vous ils elles je tu mon ton son notre votre leur ce cette
   ces que qui quoi dont ou avec sans pour par sur sous dans en au aux plus comme quand comment pourquoi se sa ses
   el los las una unos unas del y o pero no es son era fue yo tu ella nosotros vosotros ellos mi su con sin por para sobre al lo como
   cuando donde quien cual porque mas muy se ya
   il lo gli uno di che e o ma non sono era io lei noi voi loro suo con senza per su da nel della dei come quando dove chi perche piu si
   os as um uma uns umas do da dos das em no na nos nas e mas nao sao eu ele ela eles elas meu seu com sem por para sobre ao que quem
   como quando onde mais
   de het een en of maar niet is zijn was waren ik jij hij zij wij met van voor op te naar bij uit om dat die wat wie waar hoe ook nog
   и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о из ему когда
   или если мы они это для при
   bir ve ile bu su o da de ne mi mu icin gibi daha cok ama
   的 了 在 是 我 有 和 就 不 人 都 一 也 很 到 说 要 去 你 会 着 没 看 这 那 他 她 它 们 与 及 吗 呢 吧 什么 怎么 の に は を た が で て と し れ さ
   ある いる する です ます から まで など この その あの これ それ`.split(/\s+/u),
);
