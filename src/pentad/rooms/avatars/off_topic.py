"""Questions from many fields, none of them for any avatar in particular: what a corpus usually does not answer.

An ingest asks them to learn how little its retrieval finds for them. They are grouped by field, because a corpus may
well be about one of the fields; that field is then left out.
"""

from typing import Final

OFF_TOPIC: Final[dict[str, str]] = {
    "cooking": """How long should I boil an egg to keep the yolk soft?
What is the best flour for baking sourdough bread?
Can I replace butter with olive oil in a chocolate cake?
Which spices go into a mild chicken curry?
How do you keep rice from sticking to the pot?
What temperature is right for roasting a leg of lamb?
Why does my mayonnaise separate when I whisk it?
How should fresh basil be stored in the kitchen?""",
    "football": """Who scored the winning goal in the last cup final?
What is the offside rule and when does it apply?
How many substitutions may a coach make in one match?
Which goalkeeper kept the most clean sheets last season?
Why do teams swap ends at half time?
How is a penalty shoot-out decided if both sides keep scoring?
What formation works best against a defensive side?
How many yellow cards lead to a suspension?""",
    "tennis and athletics": """What is the world record for the men's marathon?
How is the score counted in a tie-break?
Which muscles matter most for a sprinter's start?
How should I train for my first triathlon?
What height do hurdles have in the women's race?
Why do swimmers shave before a competition?
How often should running shoes be replaced?
What is the difference between a clay court and a grass court?""",
    "home computers": """Why is my laptop so slow after the last update?
How do I recover files I deleted by mistake?
Which graphics card should I buy for video games?
What does the blue screen error mean?
How can I connect a printer to my wireless network?
How much memory does a modern browser need?
Can a solid state drive be repaired?
How do I change the keyboard layout on my phone?""",
    "programming": """How do I reverse a linked list in Java?
What is the difference between a thread and a process?
Why does my regular expression match too much?
How do I undo the last commit in git?
When should I use an index in a relational database?
What does a null pointer exception mean?
How does garbage collection work in Python?
How do I centre a box with CSS?""",
    "personal finance": """Should I pay off my mortgage early or invest in shares?
What is the interest rate on a typical savings account?
How do I file a tax return as a freelancer?
What happens to my pension if I change jobs?
How is compound interest calculated on a loan?
What is a good credit score?
Are index funds safer than single stocks?
How much of my salary should I save every month?""",
    "medicine": """What are the symptoms of appendicitis?
How is high blood pressure treated?
Which vaccine do I need before travelling to the tropics?
How long does a sprained ankle take to heal?
Can ibuprofen be taken together with paracetamol?
What causes migraine headaches?
How is type 2 diabetes diagnosed?
What does an elevated white blood cell count mean?""",
    "dentistry": """How often should I have my teeth cleaned by a dentist?
What is a root canal treatment?
Do wisdom teeth always have to be removed?
Why do my gums bleed when I brush?
Is an electric toothbrush better than a manual one?
How are dental crowns made?
What helps against sensitive teeth?
At which age do children lose their milk teeth?""",
    "gardening": """When should tomato seedlings be planted outside?
How do I get rid of slugs without poison?
Which roses bloom all summer in the shade?
How deep should tulip bulbs be set?
Why do the leaves of my hydrangea turn brown?
What is the best time to prune an apple tree?
How often does a cactus need water?
Can coffee grounds be used as fertiliser?""",
    "pets": """How often should a kitten be fed?
Why does my dog bark at the postman?
What size of cage does a hamster need?
Which vegetables can a rabbit eat?
How do I teach a parrot to speak?
Why is my goldfish swimming upside down?
At what age can a puppy go for long walks?
How do I stop my cat from scratching the sofa?""",
    "cars": """How often should the oil of a diesel engine be changed?
What does the yellow engine light on the dashboard mean?
How do I change a flat tyre on the motorway?
Which gearbox uses less fuel, manual or automatic?
Why do my brakes squeak in the morning?
How long does the battery of an electric car last?
What tread depth must winter tyres have?
How do jump leads have to be connected?""",
    "aviation": """How long is the runway of a typical international airport?
Why do aeroplanes leave white trails in the sky?
What does a pilot do when an engine fails at take-off?
How is cabin pressure kept at cruising altitude?
What is the stall speed of a glider?
How do air traffic controllers separate landing aircraft?
Why are aircraft windows round?
How much fuel does a jumbo jet burn in an hour?""",
    "astronomy": """How far away is the nearest galaxy?
Why does Saturn have rings?
What happens when a star collapses into a black hole?
How long does light need from the sun to the earth?
How many moons does Jupiter have?
What is dark matter made of?
When will the next total solar eclipse be visible?
How are exoplanets discovered?""",
    "particle physics": """What is the mass of an electron?
How does a cyclotron accelerate protons?
What is the difference between fermions and bosons?
Why can a neutrino pass through the whole earth?
How was the charge of quarks measured?
What does the uncertainty principle say?
How does a superconductor expel a magnetic field?
What is antimatter used for in hospitals?""",
    "chemistry": """What is the boiling point of ethanol?
Why does sodium react so violently with water?
How is ammonia produced on an industrial scale?
What is the pH value of lemon juice?
Which catalyst is used to crack petroleum?
How do you balance a redox equation?
What gives fireworks their green colour?
Why do noble gases hardly form compounds?""",
    "zoology": """How do bats find their prey in the dark?
How long does an elephant carry its young?
Why do flamingos stand on one leg?
What do polar bears eat in the summer?
How do geckos walk on the ceiling?
Which snake has the strongest venom?
How many stomachs does a cow have?
Why do salmon return to the river of their birth?""",
    "botany": """How does a Venus flytrap close its leaves?
Why do leaves turn red in autumn?
How tall can a giant sequoia grow?
What is the function of stomata?
How do orchids attract their pollinators?
Why do bamboo plants flower all at the same time?
How do mosses reproduce?
What lets a water lily float?""",
    "geology": """What causes an earthquake along a transform fault?
How do stalactites form in limestone caves?
What is the hardness of topaz?
How old are the oldest rocks on earth?
Why do some volcanoes explode and others flow?
How is granite different from basalt?
Where does the Gulf Stream get its warmth from?
How are diamonds brought to the surface?""",
    "weather": """Will it rain in Lisbon at the weekend?
How does a tornado form?
Why is hail more common in summer?
What does a falling barometer tell?
How is wind chill calculated?
What is the difference between fog and mist?
Why does thunder follow lightning?
How are hurricanes named?""",
    "ancient history": """Who defeated Hannibal at the battle of Zama?
How were the pyramids of Giza built?
What did Roman soldiers eat on the march?
Why did the Mycenaean palaces fall?
Which pharaoh founded the city of Amarna?
How did Athenians vote for ostracism?
What language did the Etruscans speak?
How many ships fought at Salamis?""",
    "medieval history": """Why did the Normans invade England?
How was a knight's armour made?
What was the purpose of the Hanseatic League?
Who were the Cathars and why were they persecuted?
How did the plague reach Sicily?
What did monks copy in a scriptorium?
How did feudal lords collect their dues?
Who won the battle of Agincourt?""",
    "modern wars": """Which tank was the best of the second world war?
Why did the Schlieffen plan fail?
What started the Korean war?
How many soldiers landed on the beaches of Normandy?
Who commanded the fleet at Trafalgar?
What was the range of a German submarine?
How did the siege of Leningrad end?
Which treaty ended the war of the Spanish succession?""",
    "painting": """Which pigments did Vermeer use for his blues?
What is the difference between fresco and tempera?
Who painted the ceiling of the Sistine chapel?
Why did Monet paint the same haystacks again and again?
How do you stretch a canvas?
What is meant by chiaroscuro?
Where can Guernica be seen today?
How do restorers remove old varnish?""",
    "music": """How many strings does a cello have?
What is the difference between a sonata and a symphony?
Who composed the Goldberg variations?
How do I tune a guitar to drop D?
Why is the viola written in the alto clef?
What makes a Stradivari violin sound so good?
How do jazz musicians improvise over a chord progression?
Which opera ends with the death of Mimi?""",
    "film and television": """Who directed the film about the sunken ocean liner?
How many episodes are in the last season of the dragon series?
Which actor played the first James Bond?
How are stunts filmed with a green screen?
What is the plot of Casablanca?
Why was the spin-off cancelled?
Who won the award for best supporting actress?
What does a key grip do on a film set?""",
    "novels": """Who narrates the story of the white whale?
What happens to Anna Karenina at the railway station?
Why does Raskolnikov kill the pawnbroker?
Which of the Bennet sisters marries first?
What is the name of Don Quixote's horse?
How does the portrait of Dorian Gray change?
Who is the father of Heathcliff?
In which town is Madame Bovary bored?""",
    "poetry": """What is the rhyme scheme of a Petrarchan sonnet?
How many syllables are in a haiku?
Who wrote about the road not taken?
What does the raven say to the lonely scholar?
How is blank verse different from free verse?
Why did Rimbaud stop writing?
What is an enjambment?
Which poet laureate wrote about the light brigade?""",
    "languages": """How do you say good morning in Finnish?
What is the plural of the Latin word opus?
Why does English spelling look so irregular?
How many cases does Hungarian have?
Which languages are written from right to left?
What is the difference between por and para in Spanish?
How are tones marked in Vietnamese?
How do I learn the Cyrillic alphabet quickly?""",
    "travel": """What is the best month to visit Iceland?
Do I need a visa for a week in Vietnam?
Which metro line goes to the airport in Madrid?
How much luggage may I take on the night train?
Where can I see penguins in South Africa?
Is tap water safe to drink in Istanbul?
How long is the ferry from Piraeus to Crete?
What should I pack for a trek in Nepal?""",
    "religion": """What are the five pillars of Islam?
Why do Buddhists turn prayer wheels?
Who wrote the letter to the Romans?
What is eaten at the Passover meal?
How is a new pope elected?
What does karma mean in Hinduism?
When does the Orthodox church celebrate Easter?
What is the meaning of baptism?""",
    "law": """How long do I have to return goods I bought on the internet?
What is the difference between murder and manslaughter?
Can a landlord keep the deposit for scratches on the floor?
How is a will made valid?
What does the presumption of innocence mean?
When does a claim become time-barred?
Who pays the lawyer if the lawsuit is lost?
What is a class action?""",
    "mathematics": """How do you integrate x squared times the sine of x?
What is the definition of a prime number?
Why is the square root of two irrational?
How many faces does an icosahedron have?
What is the determinant of an orthogonal matrix?
How is the standard deviation computed?
What does the central limit theorem say?
How do you prove there are infinitely many primes?""",
    "psychology": """What is classical conditioning?
How is an obsessive-compulsive disorder treated?
What does the marshmallow test measure?
Why do people forget their dreams?
At what age do children recognise themselves in a mirror?
What are the big five personality traits?
How does sleep deprivation change attention?
What is cognitive dissonance?""",
    "fashion": """Which shoes go with a navy blue suit?
How do I get a red wine stain out of silk?
What is the difference between tweed and flannel?
How should a wool sweater be washed?
What length should a tie have?
Who invented the little black dress?
Are wide trousers in fashion this spring?
How do I measure my ring size?""",
    "house and tools": """How do I hang a shelf on a plasterboard wall?
Which drill bit do I need for tiles?
How can I unblock a kitchen drain?
What paint is right for a damp bathroom?
How do I replace a broken light switch?
Why does my radiator gurgle?
How thick should roof insulation be?
What is the best glue for wood and metal?""",
    "chess and games": """What is the best reply to the Sicilian defence?
How is castling done in chess?
How many points is the letter Q worth in Scrabble?
When is a hand of poker called a full house?
How do you win at backgammon?
What is the opening setup of checkers?
How many tiles are in a set of mahjong?
Which card is highest in bridge?""",
    "railways and ships": """What gauge do Russian railways use?
How does a steam locomotive get its traction?
How are containers lashed on a ship's deck?
Why did the great liner sink after hitting an iceberg?
How fast does a high-speed train go between two capitals?
What does a lighthouse keeper do?
How is a ship's tonnage measured?
What is a bow thruster?""",
    "celebrities and news": """Who is the richest person in the world at the moment?
Whom did the famous singer marry last summer?
What did the prime minister say about the budget yesterday?
Which company launched a new phone this week?
Who won the election in the neighbouring country?
How many followers does the young actor have?
What is the latest scandal in the royal family?
Why did the airline strike last month?""",
    "electronics": """How does a transistor amplify a signal?
What value of resistor do I need for a red LED?
What is the difference between alternating and direct current?
How do I solder surface mounted parts?
Why does a transformer hum?
How does a microwave oven heat food?
What is a Schmitt trigger good for?
How is a lithium battery charged safely?""",
    "economics of shops": """How do supermarkets decide where to place their goods?
What is the profit margin of a small bakery?
How do I write a business plan for a coffee shop?
Why do prices end in ninety-nine cents?
How is a product recalled from the market?
What does a franchise cost?
How do I register a trade mark?
What is the difference between revenue and profit?""",
}


def questions() -> list[tuple[str, str]]:
    """Each question with its field."""
    return [(name, line.strip()) for name, block in OFF_TOPIC.items() for line in block.splitlines() if line.strip()]
