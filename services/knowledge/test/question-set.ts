/** Passages of an invented handbook, with questions that paraphrase them. */
export const passages: Record<string, string> = {
  returns:
    'Goods may be sent back within thirty days of delivery. The customer prints a label from the account page and leaves the parcel at any post office. Once the warehouse has checked the item, the purchase price is credited to the card that was charged; this takes up to ten working days. Delivery costs are not repaid unless the article was faulty.',
  warranty:
    'Every device carries a guarantee of two years against faults of material and manufacture. Damage by water, falls or unauthorised repair is excluded. To make a claim, quote the serial number printed underneath the battery and describe what happens when the device is switched on.',
  shipping:
    'Orders placed before two in the afternoon leave the warehouse on the same day. Standard parcels arrive after two or three working days; express parcels the next morning before ten. Islands and mountain villages may take a day longer. A tracking number is mailed as soon as the carrier has scanned the parcel.',
  passwords:
    'Whoever has forgotten the password chooses "Reset" below the sign-in form. A message with a link goes to the registered address; the link works once and for fifteen minutes. After five wrong attempts the account is locked for a quarter of an hour. Support staff never ask for a password.',
  twofactor:
    'A second factor protects an account even when the password is known to others. Scan the code with an authenticator app, type the six digits, and keep the ten recovery codes in a safe place. Each recovery code can be used a single time if the phone is lost.',
  invoices:
    'Invoices are issued on the first day of each month and are due within fourteen days. They can be downloaded as PDF under Billing. If the company address or the tax number is wrong, correct it in the profile first; invoices that exist already are reissued on request.',
  cancel:
    'A subscription can be ended at any moment and then runs until the end of the paid month. Open Billing, choose "End subscription" and confirm. Data are kept for sixty days, so that whoever changes their mind can resume; after that they are deleted for good.',
  students:
    'Pupils, students and teachers pay half of the usual fee. They show a valid card of their school or university once a year. The reduction cannot be combined with other offers and ends with the term in which the card expires.',
  allergens:
    'The kitchen works with nuts, milk, eggs, gluten and sesame, and traces cannot be ruled out in any dish. The fourteen allergens that the law names are marked by letters on the menu. Guests with severe intolerances should speak to the cook before they order.',
  coffee:
    'Descale the espresso machine every two months. Fill the tank with a litre of water and one sachet of citric acid, start the cleaning programme and let it run through twice. Rinse with fresh water afterwards. Limescale makes the pump loud and the coffee cold.',
  bread:
    'Sourdough needs patience rather than yeast. Feed the starter with equal weights of flour and water the evening before. Knead the dough until it is elastic, fold it three times at intervals of half an hour, and let it rise in the refrigerator overnight. Bake with steam for the first fifteen minutes.',
  bicycle:
    'A chain that squeaks wants cleaning before it wants oil. Wipe it with a dry cloth, brush the sprockets, put one drop on each link and wipe off what is too much. Replace the chain when the gauge shows three quarters of a per cent of wear, or the sprockets will follow.',
  brakes:
    'Brake pads of a bicycle are worn when the grooves have disappeared. Loosen the bolt, slide the old pad out and the new one in with the arrow in the direction of travel. The pad must touch the rim along its whole length and never the tyre. Test at walking pace before you ride downhill.',
  tomatoes:
    'Tomatoes like warmth, wind and a roof against rain. Plant them out after the last frost, one every sixty centimetres, deep enough that the lowest leaves touch the soil. Water at the root in the morning. Pinch out side shoots weekly, since they take strength from the fruit.',
  compost:
    'Kitchen scraps, leaves and grass turn into soil within a year if air reaches them. Layer wet and dry material, never add cooked food or meat, which attract rats, and turn the heap each spring. It is ready when it smells of forest.',
  bees: 'In late summer a colony of honey bees is fed with sugar syrup, because the beekeeper has taken its stores. Fifteen kilograms are enough to bring it through the winter. Narrow the entrance against wasps and treat the hive against the varroa mite as soon as the honey is harvested.',
  otters:
    'The otter hunts at night along clean rivers. It eats mainly fish, besides frogs and crayfish, about a kilogram each day. Its dense fur keeps it dry; it has no layer of fat. A holt has its entrance under water and a chamber above it.',
  falcon:
    'Peregrine falcons breed on cliffs and, for some decades, on church towers and power stations. They strike birds in flight in a dive of more than three hundred kilometres an hour. The female lays three or four eggs on bare gravel in March and both parents brood for a month.',
  glacier:
    'A glacier is formed where more snow falls than melts. Under its own weight the snow becomes ice, which flows downhill, a few centimetres to several metres a day. Crevasses open where the ground beneath it bends. The rubble that it carries is left behind as moraine.',
  tides:
    'The sea rises and falls twice a day, since the moon pulls more strongly at the water that faces it. When sun and moon stand in line, the range is greatest; this is called a spring tide and follows new and full moon. In narrow bays the water may rise by more than ten metres.',
  volcano:
    'Magma that holds much gas erupts violently, thin magma flows quietly. Before an eruption the ground swells and small earthquakes grow more frequent. Ash is dangerous to aeroplanes, as it melts inside the engines, and roofs collapse under its weight when it is wet.',
  bridge:
    'Suspension bridges hang from cables that run over two towers and are anchored in rock or concrete at both ends. Wind is their enemy: in 1940 the Tacoma Narrows Bridge began to twist and fell, because nobody had tested its deck in a wind tunnel.',
  printing:
    'Before Gutenberg books were copied by hand, and a Bible took a scribe a year. He cast single letters of lead, set them into pages, inked them and pressed paper on them. Within fifty years presses worked in more than two hundred towns, and prices fell to a fifth.',
  insulin:
    'Insulin is a hormone of the pancreas that lets cells take up sugar from the blood. People with type one diabetes make none and inject it before meals. Too much of it leads to low blood sugar, with trembling, sweat and confusion; fruit juice or glucose helps at once.',
  vaccine:
    'A vaccine shows the body a harmless part of a germ, so that it can prepare antibodies. A sore arm and a slight fever on the day after are a sign of that work. The protection against tetanus should be refreshed every ten years, that against influenza every autumn.',
  sleep:
    'Adults need seven to eight hours of sleep. Light from screens in the evening delays the hormone that makes us tired; a dark, cool room helps. Coffee after lunch is still half in the blood at bedtime. Whoever lies awake for long should get up and read until tiredness returns.',
  mortgage:
    'With a fixed rate the monthly payment for a house loan stays the same for ten or fifteen years. With a variable one it follows the central bank. Banks usually lend at most four fifths of the value of the house; the rest, and the fees of notary and land register, must come from savings.',
  inflation:
    'When prices rise in general, money loses value. Statisticians measure it by a basket of goods that a household buys, compared with its price a year earlier. Central banks raise interest rates against it, which makes borrowing dearer and slows down spending.',
  backups:
    'Three copies, two kinds of media, one of them elsewhere: so runs the old rule for backups. The database is dumped every night and its log shipped each minute, so that it can be restored to any moment of the last week. A backup that has never been restored is a hope and not a backup.',
  meetings:
    'Whoever invites to a meeting sends an agenda the day before and names the decision that is wanted. Minutes are kept in the shared folder and list who does what until when. A meeting without a decision to take is cancelled and becomes a message.',
};

/** Questions, each with the passage that contains its answer. */
export const questions: [question: string, passage: string][] = [
  ['How long do I have to send an item back?', 'returns'],
  ['When will I get my money after returning a purchase?', 'returns'],
  ['Does the guarantee cover a phone that fell into water?', 'warranty'],
  ['Where do I find the serial number of my device?', 'warranty'],
  ['How fast is express delivery?', 'shipping'],
  ['Can I track my parcel?', 'shipping'],
  ["I can't remember my password, what now?", 'passwords'],
  ['Why is my account locked after wrong attempts to sign in?', 'passwords'],
  ['I lost my phone with the authenticator app', 'twofactor'],
  ['How do I set up a second factor?', 'twofactor'],
  ['How many days do I have to pay an invoice?', 'invoices'],
  ['The tax number on my bill is wrong', 'invoices'],
  ['How can I stop my subscription?', 'cancel'],
  ['Are my data deleted when I cancel?', 'cancel'],
  ['Is there a discount for teachers?', 'students'],
  ['Do your dishes contain nuts or gluten?', 'allergens'],
  ['How often should an espresso machine be descaled?', 'coffee'],
  ['What do I feed a sourdough starter?', 'bread'],
  ['My chain is squeaking', 'bicycle'],
  ['How do I know that brake pads are worn?', 'brakes'],
  ['How far apart are tomato plants planted?', 'tomatoes'],
  ['When should side shoots be removed from tomatoes?', 'tomatoes'],
  ['May cooked food go on the compost heap?', 'compost'],
  ['How much syrup does a bee colony need for winter?', 'bees'],
  ['What does an otter eat?', 'otters'],
  ['At what speed does a peregrine dive?', 'falcon'],
  ['How many eggs do falcons lay?', 'falcon'],
  ['How does snow turn into glacier ice?', 'glacier'],
  ['What causes the tides of the sea?', 'tides'],
  ['Why is volcanic ash a danger for planes?', 'volcano'],
  ['Why did the bridge at Tacoma collapse?', 'bridge'],
  ['What did Gutenberg invent?', 'printing'],
  ['What should a diabetic do about low blood sugar?', 'insulin'],
  ['How often do I need a tetanus shot?', 'vaccine'],
  ['What helps when I lie awake at night?', 'sleep'],
  ['How much of a house will the bank finance?', 'mortgage'],
  ['What is the difference between fixed and variable rates?', 'mortgage'],
  ['How is inflation measured?', 'inflation'],
  ['To which point in time can the database be restored?', 'backups'],
  ['Who writes the minutes of a meeting and where are they kept?', 'meetings'],
];
